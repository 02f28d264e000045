#include "model/tokenizer/decoding/sentencepiece_stage.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "model/tokenizer/text/unicode.h"

namespace phyllo {
namespace {

constexpr absl::string_view kMark = "\xE2\x96\x81";  // U+2581

class SentencePieceStage : public DecodeStage {
 public:
  explicit SentencePieceStage(SentencePieceDecoding decoding) : decoding_(std::move(decoding)) {}

  void Push(const DecodePiece& piece, Sink sink) override {
    const int byte = decoding_.byte_fallback ? ByteOfToken(piece.text) : -1;
    if (byte >= 0) {
      bytes_.push_back(static_cast<char>(byte));
      if (piece.from_prompt) ++prompt_bytes_;
      WriteBytes(/*last=*/false, sink);
      return;
    }
    WriteBytes(/*last=*/true, sink);
    if (mark_dropped_ || has_text_) at_begin_ = false;
    if (piece.text == decoding_.unk_piece) {
      Write(decoding_.unk_surface, piece.from_prompt, sink);
      return;
    }
    absl::string_view text = piece.text;
    if (at_begin_ && decoding_.drop_first_mark && absl::ConsumePrefix(&text, kMark))
      mark_dropped_ = !decoding_.drop_all_first_marks;
    Write(absl::StrReplaceAll(text, {{kMark, " "}}), piece.from_prompt, sink);
  }

  void Finish(Sink sink) override { WriteBytes(/*last=*/true, sink); }

 private:
  void Write(absl::string_view text, bool from_prompt, Sink sink) {
    if (text.empty()) return;
    has_text_ = true;
    sink({text, /*continues=*/false, from_prompt});
  }

  void WriteBytes(bool last, Sink sink) {
    size_t at = 0;
    while (at < bytes_.size()) {
      const Utf8Step step = StepUtf8(bytes_, at);
      if (step.kind == Utf8Step::Kind::kIncomplete && !last) break;
      const bool from_prompt = at + step.length <= prompt_bytes_;
      if (step.kind == Utf8Step::Kind::kValid) {
        Write(absl::string_view(bytes_).substr(at, step.length), from_prompt, sink);
      } else {
        for (int i = 0; i < step.length; ++i)
          Write(kReplacementCharacter, at + i < prompt_bytes_, sink);
      }
      at += step.length;
    }
    bytes_.erase(0, at);
    prompt_bytes_ -= std::min(prompt_bytes_, at);
  }

  const SentencePieceDecoding decoding_;
  bool at_begin_ = true;  // There was no text before the last token.
  bool mark_dropped_ = false;
  bool has_text_ = false;
  std::string bytes_;        // The begin of a character.
  size_t prompt_bytes_ = 0;  // So many of them, the first, are the prompt's.
};

}  // namespace

std::unique_ptr<DecodeStage> MakeSentencePieceStage(SentencePieceDecoding decoding) {
  return absl::make_unique<SentencePieceStage>(std::move(decoding));
}

}  // namespace phyllo
