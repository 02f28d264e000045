// Every case of one golden tokenizer, whose name is in the environment (see
// tokenizer_golden_test.bzl): token ids and decoded text, streaming, and chat templates, against
// what tokenizers and transformers make of them.
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/tokenizer/chat_template.h"
#include "model/tokenizer/incremental_decoder.h"
#include "model/tokenizer/text/unicode.h"
#include "model/tokenizer/tokenizer.h"
#include "tests/golden/tokenizers/golden_tokenizer.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Counts what a test compares and what of it matches, for docs/goldens.md (tests/golden/table.py).
class Tally {
 public:
  explicit Tally(std::string what) : what_(std::move(what)) {}
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;
  ~Tally() {
    if (count_ == 0) return;
    ::testing::Test::RecordProperty(what_, count_);
    ::testing::Test::RecordProperty(what_ + "_matched", matched_count_);
  }

  // One comparison: it matches if no expectation fails while this lives.
  class Item {
   public:
    explicit Item(Tally& tally) : tally_(tally), failure_count_(FailureCount()) {}
    Item(const Item&) = delete;
    Item& operator=(const Item&) = delete;
    ~Item() {
      ++tally_.count_;
      if (FailureCount() == failure_count_) ++tally_.matched_count_;
    }

   private:
    static int FailureCount() {
      return ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
    }

    Tally& tally_;
    const int failure_count_;
  };

 private:
  const std::string what_;
  int count_ = 0;
  int matched_count_ = 0;
};

class TokenizerGoldenTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string name = Environment("PHYLLO_GOLDEN_TOKENIZER");
    const std::string vocabulary = Environment("PHYLLO_GOLDEN_VOCABULARY");
    if (GoldenTokenizerFolder(name).empty() || GoldenTokenizerFolder(vocabulary).empty()) return;
    const std::vector<std::string> without =
        absl::StrSplit(Environment("PHYLLO_GOLDEN_WITHOUT"), ',', absl::SkipEmpty());
    const auto format = ParseGoldenFormat(Environment("PHYLLO_GOLDEN_FORMAT"));
    ASSERT_THAT(format, IsOk());
    auto golden = LoadGoldenTokenizer(name, vocabulary, without, *format);
    ASSERT_THAT(golden, IsOk());
    golden_ = new GoldenTokenizer(*std::move(golden));
    if (golden_->chats.empty()) return;
    auto chat_template = ChatTemplate::Create(*golden_->tokenizer);
    ASSERT_THAT(chat_template, IsOk());
    chat_template_ = chat_template->release();
    for (int32_t id = 0; id < golden_->tokenizer->vocab_size(); ++id) {
      const auto token = golden_->tokenizer->FindToken(id);
      if (token.has_value() && token->control) control_tokens_->push_back(*token);
    }
  }

  static void TearDownTestSuite() {
    delete chat_template_;
    chat_template_ = nullptr;
    control_tokens_->clear();
    delete golden_;
    golden_ = nullptr;
  }

  void SetUp() override {
    if (golden_ == nullptr && !HasFatalFailure()) {
      GTEST_SKIP() << "no data of " << Environment("PHYLLO_GOLDEN_TOKENIZER")
                   << " in the project (its terms differ): set PHYLLO_GOLDEN_DIR to a folder of "
                      "golden data to run this test";
    }
  }

  static const Tokenizer& tokenizer() { return *golden_->tokenizer; }

  // The rendering of `chat`, with its control tokens recognised in the content or not.
  static absl::StatusOr<RenderedChat> Render(const GoldenChat& chat, bool parse_special) {
    ChatRequest request;
    request.messages_json = chat.messages_json;
    request.tools_json = chat.tools_json;
    request.kwargs_json = chat.kwargs_json;
    request.add_generation_prompt = chat.add_generation_prompt;
    request.parse_special_tokens_in_content = parse_special;
    return chat_template_->Render(request);
  }

  // Whether the messages spell a control token: the only conversations here whose ids must differ
  // from those of transformers.
  static bool SpellsControlToken(const GoldenChat& chat) {
    for (const TokenInfo& token : *control_tokens_) {
      if (absl::StrContains(chat.messages_json, token.token)) return true;
    }
    return false;
  }

  static std::vector<int32_t> ControlIds(const std::vector<int32_t>& ids) {
    std::vector<int32_t> control;
    for (const int32_t id : ids) {
      const auto token = tokenizer().FindToken(id);
      if (token.has_value() && token->control) control.push_back(id);
    }
    return control;
  }

  // Of the whole suite: reading a vocabulary takes a second.
  static GoldenTokenizer* golden_;
  static ChatTemplate* chat_template_;  // Null if there are no chats.
  static std::vector<TokenInfo>* const control_tokens_;
};

GoldenTokenizer* TokenizerGoldenTest::golden_ = nullptr;
ChatTemplate* TokenizerGoldenTest::chat_template_ = nullptr;
std::vector<TokenInfo>* const TokenizerGoldenTest::control_tokens_ = new std::vector<TokenInfo>();

TEST_F(TokenizerGoldenTest, HasCases) {
  EXPECT_FALSE(golden_->cases.empty() && golden_->chats.empty());
}

TEST_F(TokenizerGoldenTest, EncodesAsReference) {
  Tally tally("encoded");
  for (const GoldenCase& golden : golden_->cases) {
    SCOPED_TRACE(golden.id);
    const Tally::Item item(tally);
    EncodeOptions options{/*add_special_tokens=*/false, golden.parse_special_tokens,
                          /*with_offsets=*/false};
    PHYLLO_ASSERT_OK_AND_ASSIGN(const Encoding plain, tokenizer().Encode(golden.text, options));
    EXPECT_EQ(plain.ids, golden.ids);
    options.add_special_tokens = true;
    PHYLLO_ASSERT_OK_AND_ASSIGN(const Encoding special, tokenizer().Encode(golden.text, options));
    EXPECT_EQ(special.ids, golden.ids_special);
  }
}

TEST_F(TokenizerGoldenTest, OffsetsAscendWithinText) {
  for (const GoldenCase& golden : golden_->cases) {
    SCOPED_TRACE(golden.id);
    const EncodeOptions options{/*add_special_tokens=*/true, golden.parse_special_tokens,
                                /*with_offsets=*/true};
    PHYLLO_ASSERT_OK_AND_ASSIGN(const Encoding encoding, tokenizer().Encode(golden.text, options));
    ASSERT_EQ(encoding.ids, golden.ids_special);
    ASSERT_EQ(encoding.offsets.size(), encoding.ids.size());
    int64_t last_begin = 0;
    for (const ByteRange& range : encoding.offsets) {
      EXPECT_GE(range.begin, last_begin);
      EXPECT_GE(range.end, range.begin);
      EXPECT_LE(range.end, static_cast<int64_t>(golden.text.size()));
      last_begin = range.begin;
    }
  }
}

TEST_F(TokenizerGoldenTest, DecodesAsReference) {
  Tally tally("decoded");
  for (const GoldenCase& golden : golden_->cases) {
    SCOPED_TRACE(golden.id);
    const Tally::Item item(tally);
    EXPECT_EQ(tokenizer().Decode(golden.ids, /*skip_special_tokens=*/false), golden.decoded);
    EXPECT_EQ(tokenizer().Decode(golden.ids_special, /*skip_special_tokens=*/true),
              golden.decoded_skip_special);
  }
}

TEST_F(TokenizerGoldenTest, DecodesEveryPrefixAsReference) {
  Tally tally("prefixes");
  for (const GoldenStream& golden : golden_->streams) {
    SCOPED_TRACE(golden.id);
    EXPECT_EQ(tokenizer().Decode(golden.ids, golden.skip_special_tokens), golden.decoded);
    for (size_t n = 1; n <= golden.prefix_decoded.size(); ++n) {
      const Tally::Item item(tally);
      EXPECT_EQ(tokenizer().Decode(absl::MakeConstSpan(golden.ids).subspan(0, n), false),
                golden.prefix_decoded[n - 1]);
    }
  }
}

TEST_F(TokenizerGoldenTest, TokenBytesAreAsReference) {
  for (const GoldenStream& golden : golden_->streams) {
    SCOPED_TRACE(golden.id);
    for (size_t i = 0; i < golden.token_bytes.size(); ++i) {
      if (!golden.token_bytes[i].has_value()) continue;
      const auto token = tokenizer().FindToken(golden.ids[i]);
      ASSERT_TRUE(token.has_value());
      // The reference lists added tokens as they are written; Gemma's runs of U+2581 are added
      // tokens but decode to spaces, and `bytes` is what a token decodes to.
      EXPECT_EQ(token->added ? std::string(token->token) : token->bytes, *golden.token_bytes[i]);
    }
  }
}

TEST_F(TokenizerGoldenTest, StreamsWholeTextInValidDeltas) {
  for (const GoldenStream& golden : golden_->streams) {
    SCOPED_TRACE(golden.id);
    IncrementalDecoder decoder(tokenizer(), golden.skip_special_tokens);
    std::string text;
    for (const int32_t id : golden.ids) {
      const std::string delta = decoder.Append({id});
      EXPECT_EQ(FindInvalidUtf8(delta), -1);
      text += delta;
      EXPECT_TRUE(absl::StartsWith(golden.decoded, text));
    }
    text += decoder.Finish();
    EXPECT_EQ(text, golden.decoded);
  }
}

TEST_F(TokenizerGoldenTest, ContinuesSeededPromptWithoutRepeatingIt) {
  for (const GoldenStream& golden : golden_->streams) {
    for (size_t prompt = 1; prompt < golden.prefix_decoded.size(); ++prompt) {
      SCOPED_TRACE(testing::Message() << golden.id << " after " << prompt);
      const std::string& before = golden.prefix_decoded[prompt - 1];
      IncrementalDecoder decoder(tokenizer(), /*skip_special_tokens=*/false);
      decoder.Seed(absl::MakeConstSpan(golden.ids).subspan(0, prompt));
      std::string text = decoder.Append(absl::MakeConstSpan(golden.ids).subspan(prompt));
      text += decoder.Finish();
      EXPECT_TRUE(absl::EndsWith(golden.decoded, text));
      // A prompt that ends between characters is followed by exactly the rest.
      if (!absl::StrContains(golden.decoded, kReplacementCharacter) &&
          !absl::StrContains(before, kReplacementCharacter)) {
        EXPECT_EQ(before + text, golden.decoded);
      }
    }
  }
}

TEST_F(TokenizerGoldenTest, RendersChatsAsReference) {
  Tally tally("chats");
  for (const GoldenChat& golden : golden_->chats) {
    SCOPED_TRACE(golden.name);
    const Tally::Item item(tally);
    const absl::StatusOr<RenderedChat> chat = Render(golden, /*parse_special=*/true);
    if (!golden.error.empty()) {
      EXPECT_THAT(chat, StatusIs(absl::StatusCode::kInvalidArgument, golden.error));
      continue;
    }
    PHYLLO_ASSERT_OK(chat);
    EXPECT_EQ(chat->text, golden.rendered);
    EXPECT_EQ(chat->ids, golden.ids);
  }
}

TEST_F(TokenizerGoldenTest, RendersHarmlessChatsAsReferenceWithContentKeptLiteral) {
  for (const GoldenChat& golden : golden_->chats) {
    if (!golden.error.empty() || SpellsControlToken(golden)) continue;
    SCOPED_TRACE(golden.name);
    PHYLLO_ASSERT_OK_AND_ASSIGN(const RenderedChat chat, Render(golden, /*parse_special=*/false));
    EXPECT_EQ(chat.text, golden.rendered);
    EXPECT_EQ(chat.ids, golden.ids);
    std::string joined;
    for (const PromptSegment& segment : chat.segments) joined += segment.text;
    EXPECT_EQ(joined, golden.rendered);
  }
}

TEST_F(TokenizerGoldenTest, ContentNeverBecomesControlTokens) {
  const absl::string_view harmless = R"([{"role":"user","content":"harmless"}])";
  if (golden_->chats.empty()) return;
  GoldenChat chat;
  chat.add_generation_prompt = true;
  chat.messages_json = std::string(harmless);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const RenderedChat expected, Render(chat, /*parse_special=*/false));
  for (const TokenInfo& token : *control_tokens_) {
    SCOPED_TRACE(token.token);
    const std::string content(token.token);
    chat.messages_json =
        absl::StrReplaceAll(harmless, {{"harmless", content + " " + content + content}});
    PHYLLO_ASSERT_OK_AND_ASSIGN(const RenderedChat rendered, Render(chat, /*parse_special=*/false));
    EXPECT_EQ(ControlIds(rendered.ids), ControlIds(expected.ids));
    EXPECT_THAT(rendered.text, HasSubstr(content + " " + content + content));
  }
}

}  // namespace
}  // namespace phyllo
