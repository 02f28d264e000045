// Encodes and decodes texts for comparison with another implementation:
//   tokenize_texts FOLDER PARSE_SPECIAL_TOKENS(0|1) ADD_SPECIAL_TOKENS(0|1) < texts > results
// A text is its size in bytes (uint32, little-endian) and its bytes. A result is the number of ids
// (uint32), the ids (int32), and the text they decode to with skip_special_tokens, as the texts
// are.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/tokenizer/tokenizer.h"

namespace phyllo {
namespace {

bool ReadText(std::string* text) {
  uint32_t size = 0;
  if (std::fread(&size, sizeof(size), 1, stdin) != 1) return false;
  text->resize(size);
  return size == 0 || std::fread(&(*text)[0], size, 1, stdin) == 1;
}

void WriteBytes(const void* data, size_t size) { std::fwrite(data, 1, size, stdout); }

void WriteSize(size_t size) {
  const auto narrow = static_cast<uint32_t>(size);
  WriteBytes(&narrow, sizeof(narrow));
}

int Main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: tokenize_texts FOLDER PARSE_SPECIAL ADD_SPECIAL < texts\n");
    return 2;
  }
  const absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::Load(argv[1]);
  if (!tokenizer.ok()) {
    std::fprintf(stderr, "%s\n", tokenizer.status().ToString().c_str());
    return 1;
  }
  EncodeOptions options;
  options.parse_special_tokens = absl::string_view(argv[2]) == "1";
  options.add_special_tokens = absl::string_view(argv[3]) == "1";
  std::string text;
  while (ReadText(&text)) {
    const absl::StatusOr<Encoding> encoding = (*tokenizer)->Encode(text, options);
    if (!encoding.ok()) {
      std::fprintf(stderr, "%s\n", encoding.status().ToString().c_str());
      return 1;
    }
    const std::string decoded = (*tokenizer)->Decode(encoding->ids, /*skip_special_tokens=*/true);
    WriteSize(encoding->ids.size());
    WriteBytes(encoding->ids.data(), encoding->ids.size() * sizeof(int32_t));
    WriteSize(decoded.size());
    WriteBytes(decoded.data(), decoded.size());
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace phyllo

int main(int argc, char** argv) { return phyllo::Main(argc, argv); }
