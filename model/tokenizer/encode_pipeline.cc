// tokenizers, AddedVocabulary::extract_and_normalize and TokenizerImpl: tokens marked normalized =
// false are cut out of the original text; each section between them is normalized alone; the others
// are cut out of that; each rest is pre-tokenized alone, and each of its words goes through the
// model.
#include "model/tokenizer/encode_pipeline.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/text/json_fields.h"
#include "model/tokenizer/word_models/bpe_model.h"
#include "model/tokenizer/word_models/unigram_model.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

constexpr size_t kMaxIdleScratch = 64;

// Scratch space grows with the text; what a longer one needed is given back.
constexpr size_t kMaxKeptTextBytes = size_t{1} << 18;

const nlohmann::json& FieldOrNull(const nlohmann::json& file, const char* key) {
  static const nlohmann::json kNull;
  const nlohmann::json* value = FindField(file, key);
  return value == nullptr ? kNull : *value;
}

absl::Status Annotate(const absl::Status& status) {
  if (status.ok() || absl::string_view(status.message()).substr(0, 14) == "tokenizer.json")
    return status;
  return absl::Status(status.code(), absl::StrCat("tokenizer.json: ", status.message()));
}

absl::StatusOr<std::unique_ptr<WordModel>> MakeModel(const nlohmann::json& model, bool byte_level) {
  // Old files leave the type out.
  PHYLLO_ASSIGN_OR_RETURN(const std::string type, StringFieldOr(model, "type", "BPE"));
  if (type == "BPE") return BpeModel::FromJson(model, byte_level);
  if (type == "Unigram" && !byte_level) return UnigramModel::FromJson(model);
  return UnknownComponent("model", byte_level ? absl::StrCat(type, " of bytes") : type);
}

absl::Status ReadComponents(const nlohmann::json& file, absl::string_view chat_template,
                            EncodeComponents* components) {
  PHYLLO_ASSIGN_OR_RETURN(components->normalizer, MakeNormalizer(FieldOrNull(file, "normalizer")));
  PHYLLO_ASSIGN_OR_RETURN(AddedTokens added,
                          AddedTokens::FromJson(FieldOrNull(file, "added_tokens"),
                                                components->normalizer.get(), chat_template));
  components->added_tokens = absl::make_unique<AddedTokens>(std::move(added));
  PHYLLO_ASSIGN_OR_RETURN(PreTokenizerAndAlphabet pre,
                          MakePreTokenizer(FieldOrNull(file, "pre_tokenizer")));
  components->pre_tokenizer = std::move(pre.pre_tokenizer);
  PHYLLO_ASSIGN_OR_RETURN(components->model, MakeModel(FieldOrNull(file, "model"), pre.byte_level));
  PHYLLO_ASSIGN_OR_RETURN(components->post_processor,
                          MakePostProcessor(FieldOrNull(file, "post_processor")));
  return absl::OkStatus();
}

// Whether `token` may be recognised at `bytes` of the text.
bool IsAllowed(const AddedToken& token, ByteRange bytes,
               absl::Span<const LiteralRange> literal_ranges, const EncodeOptions& options) {
  if (token.control && !options.parse_special_tokens) return false;
  // The first range that ends behind the begin of the token.
  auto range = std::partition_point(
      literal_ranges.begin(), literal_ranges.end(),
      [&](const LiteralRange& candidate) { return candidate.bytes.end <= bytes.begin; });
  for (; range != literal_ranges.end() && range->bytes.begin < bytes.end; ++range) {
    if (token.control || (token.in_template && range->template_tokens_too)) return false;
  }
  return true;
}

}  // namespace

struct EncodePipeline::Call {
  absl::Span<const LiteralRange> literal_ranges;
  const EncodeOptions& options;
  bool tracked;
  Scratch& scratch;
  Encoding result;

  void Add(int32_t id, ByteRange bytes) {
    result.ids.push_back(id);
    if (options.with_offsets) result.offsets.push_back(bytes);
  }
};

absl::StatusOr<std::unique_ptr<EncodePipeline>> EncodePipeline::FromJson(
    const nlohmann::json& file, absl::string_view chat_template) {
  if (!file.is_object()) return absl::InvalidArgumentError("tokenizer.json is not a JSON object");
  EncodeComponents components;
  PHYLLO_RETURN_IF_ERROR(Annotate(ReadComponents(file, chat_template, &components)));
  return absl::make_unique<EncodePipeline>(std::move(components));
}

std::unique_ptr<EncodePipeline::Scratch> EncodePipeline::TakeScratch() const {
  {
    absl::MutexLock lock(&mutex_);
    if (!idle_scratch_.empty()) {
      std::unique_ptr<Scratch> scratch = std::move(idle_scratch_.back());
      idle_scratch_.pop_back();
      return scratch;
    }
  }
  auto scratch = absl::make_unique<Scratch>();
  scratch->model = components_.model->NewScratch();
  return scratch;
}

void EncodePipeline::ReturnScratch(std::unique_ptr<Scratch> scratch) const {
  absl::MutexLock lock(&mutex_);
  if (idle_scratch_.size() < kMaxIdleScratch) idle_scratch_.push_back(std::move(scratch));
}

absl::StatusOr<Encoding> EncodePipeline::Encode(absl::string_view text,
                                                absl::Span<const LiteralRange> literal_ranges,
                                                const EncodeOptions& options) const {
  std::unique_ptr<Scratch> scratch = TakeScratch();
  const bool tracked =
      options.with_offsets ||
      (!literal_ranges.empty() && !components_.added_tokens->HasNone(/*normalized=*/true));
  Call call{literal_ranges, options, tracked, *scratch, {}};
  call.result.ids.reserve(text.size() / 4 + components_.post_processor.prefix.size() +
                          components_.post_processor.suffix.size() + 1);
  if (options.add_special_tokens) {
    for (const int32_t id : components_.post_processor.prefix) call.Add(id, {0, 0});
  }
  const auto allowed = [&](const AddedToken& token, size_t begin, size_t end) {
    return IsAllowed(token, {static_cast<int64_t>(begin), static_cast<int64_t>(end)},
                     literal_ranges, options);
  };
  for (const AddedTokens::Part& part :
       components_.added_tokens->Cut(text, /*normalized=*/false, allowed)) {
    const auto begin = static_cast<int64_t>(part.begin);
    if (part.token != nullptr) {
      call.Add(part.token->id, {begin, static_cast<int64_t>(part.end)});
    } else {
      const absl::string_view section = text.substr(part.begin, part.end - part.begin);
      PHYLLO_RETURN_IF_ERROR(EncodeSection(AlignedText(section, begin, tracked), &call));
    }
  }
  if (options.add_special_tokens) {
    const auto end = static_cast<int64_t>(text.size());
    for (const int32_t id : components_.post_processor.suffix) call.Add(id, {end, end});
  }
  if (text.size() <= kMaxKeptTextBytes) ReturnScratch(std::move(scratch));
  return std::move(call.result);
}

absl::Status EncodePipeline::EncodeSection(AlignedText section, Call* call) const {
  if (components_.normalizer != nullptr) {
    PHYLLO_ASSIGN_OR_RETURN(
        section, components_.normalizer->Normalize(std::move(section), &call->scratch.regex));
  }
  if (components_.added_tokens->HasNone(/*normalized=*/true))
    return EncodePlain(std::move(section), call);
  const bool has_ranges = !call->literal_ranges.empty();
  const auto allowed = [&](const AddedToken& token, size_t begin, size_t end) {
    const ByteRange bytes = has_ranges ? section.OriginalRange(begin, end) : ByteRange{};
    return IsAllowed(token, bytes, call->literal_ranges, call->options);
  };
  for (const AddedTokens::Part& part :
       components_.added_tokens->Cut(section.view(), /*normalized=*/true, allowed)) {
    if (part.token != nullptr) {
      call->Add(part.token->id,
                call->tracked ? section.OriginalRange(part.begin, part.end) : ByteRange{});
    } else {
      PHYLLO_RETURN_IF_ERROR(EncodePlain(section.Slice(part.begin, part.end), call));
    }
  }
  return absl::OkStatus();
}

absl::Status EncodePipeline::EncodePlain(AlignedText plain, Call* call) const {
  WordList list(std::move(plain));
  if (components_.pre_tokenizer != nullptr)
    PHYLLO_RETURN_IF_ERROR(components_.pre_tokenizer->Split(&list, &call->scratch.regex));
  std::vector<WordToken>& tokens = call->scratch.tokens;
  for (const RegexMatch& word : list.words) {
    tokens.clear();
    PHYLLO_RETURN_IF_ERROR(
        components_.model->Encode(list.text.view().substr(word.begin, word.end - word.begin),
                                  call->scratch.model.get(), &tokens));
    size_t at = word.begin;
    for (const WordToken& token : tokens) {
      const size_t end = at + static_cast<size_t>(token.length);
      call->Add(token.id,
                call->options.with_offsets ? list.text.OriginalRange(at, end) : ByteRange{});
      at = end;
    }
  }
  return absl::OkStatus();
}

}  // namespace phyllo
