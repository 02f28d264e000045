// The files that say what a tokenizer's tokens are. The first byte tells which: a tokenizer.json
// begins with a brace, a tokenizer.model with the tag of its first piece (a line feed), and all
// else is a .tiktoken file. What loads must encode texts to ids of its vocabulary, whose offsets
// lie in the text, and decode them to valid UTF-8.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/base/check.h"
#include "model/tokenizer/text/encoding.h"
#include "model/tokenizer/text/unicode.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/tokenizer_files.h"

namespace phyllo {
namespace {

constexpr size_t kMaxTextBytes = 1000;
constexpr absl::string_view kText =
    " Hello  world\r\n\t<s>a<unk>b</s> 123 \xC2\xA0 na\xC3\xAFve \xE4\xB8\xAD\xE6\x96\x87 "
    "e\xCC\x81 \xEF\xBC\xA1 \xF0\x9F\x98\x80\xE2\x96\x81 \xEF\xB7\xBA";

void TryText(const Tokenizer& tokenizer, absl::string_view text) {
  EncodeOptions options;
  options.parse_special_tokens = true;
  options.with_offsets = true;
  const absl::StatusOr<Encoding> encoding = tokenizer.Encode(text, options);
  if (!encoding.ok()) return;
  PHYLLO_CHECK(encoding->offsets.size() == encoding->ids.size());
  for (const ByteRange& range : encoding->offsets) {
    PHYLLO_CHECK(range.begin >= 0 && range.begin <= range.end);
    PHYLLO_CHECK(range.end <= static_cast<int64_t>(text.size()));
  }
  const std::string decoded = tokenizer.Decode(encoding->ids, /*skip_special_tokens=*/false);
  PHYLLO_CHECK(FindInvalidUtf8(decoded) < 0);
}

}  // namespace
}  // namespace phyllo

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  phyllo::TokenizerFiles files;
  if (bytes.substr(0, 1) == "{") {
    files.tokenizer_json = std::string(bytes);
  } else if (bytes.substr(0, 1) == "\n") {
    files.sentencepiece_model = std::string(bytes);
  } else {
    files.tiktoken_name = "cl100k_base";
    files.tiktoken = std::string(bytes);
  }
  const absl::StatusOr<std::unique_ptr<phyllo::Tokenizer>> tokenizer =
      phyllo::Tokenizer::FromFiles(files);
  if (!tokenizer.ok()) return 0;
  phyllo::TryText(**tokenizer, phyllo::kText);
  const absl::string_view own = bytes.substr(0, phyllo::kMaxTextBytes);
  if (phyllo::FindInvalidUtf8(own) < 0) phyllo::TryText(**tokenizer, own);
  return 0;
}
