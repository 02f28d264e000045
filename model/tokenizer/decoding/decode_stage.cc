// Bytes that are held back may come from the prompt and from the stream: a character or an invalid
// part belongs to the prompt if all its bytes do.
#include "model/tokenizer/decoding/decode_stage.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "model/tokenizer/text/byte_level.h"
#include "model/tokenizer/text/unicode.h"

namespace phyllo {
namespace {

// Collects pieces of text and hands each stretch of one origin on as one piece.
class PieceWriter {
 public:
  PieceWriter(bool continues, DecodeStage::Sink sink) : continues_(continues), sink_(sink) {}

  void Append(absl::string_view text, bool from_prompt) {
    if (from_prompt != from_prompt_) Flush();
    from_prompt_ = from_prompt;
    text_.append(text.data(), text.size());
  }

  void Flush() {
    if (text_.empty()) return;
    sink_({text_, continues_, from_prompt_});
    continues_ = true;
    text_.clear();
  }

 private:
  bool continues_;
  bool from_prompt_ = false;
  std::string text_;
  DecodeStage::Sink sink_;
};

class ByteLevelStage : public DecodeStage {
 public:
  void Push(const DecodePiece& piece, Sink sink) override {
    const std::string bytes = ByteLevelToBytes(piece.text);
    pending_.append(bytes);
    if (piece.from_prompt) prompt_bytes_ += bytes.size();
    Write(/*last=*/false, sink);
  }

  void Finish(Sink sink) override { Write(/*last=*/true, sink); }

 private:
  void Write(bool last, Sink sink) {
    PieceWriter writer(started_, sink);
    size_t at = 0;
    while (at < pending_.size()) {
      const Utf8Step step = StepUtf8(pending_, at);
      if (step.kind == Utf8Step::Kind::kIncomplete && !last) break;
      const bool valid = step.kind == Utf8Step::Kind::kValid;
      writer.Append(
          valid ? absl::string_view(pending_).substr(at, step.length) : kReplacementCharacter,
          at + step.length <= prompt_bytes_);
      at += step.length;
      started_ = true;
    }
    writer.Flush();
    pending_.erase(0, at);
    prompt_bytes_ -= std::min(prompt_bytes_, at);
  }

  bool started_ = false;     // A piece was handed on.
  std::string pending_;      // The begin of a character, at most 3 bytes between calls.
  size_t prompt_bytes_ = 0;  // So many of them, the first, are the prompt's.
};

class ByteFallbackStage : public DecodeStage {
 public:
  explicit ByteFallbackStage(int64_t max_held_bytes)
      : max_held_bytes_(static_cast<size_t>(max_held_bytes)) {}

  void Push(const DecodePiece& piece, Sink sink) override {
    const int byte = ByteOfToken(piece.text);
    if (byte < 0) {
      EndRun(sink);
      sink(piece);
      return;
    }
    run_.push_back(static_cast<char>(byte));
    if (piece.from_prompt) ++prompt_bytes_;
    if (run_.size() > max_held_bytes_) ShortenRun(sink);
  }

  void Finish(Sink sink) override { EndRun(sink); }

 private:
  void EndRun(Sink sink) {
    if (FindInvalidUtf8(run_) >= 0) {
      for (size_t i = 0; i < run_.size(); ++i)
        sink({kReplacementCharacter, false, i < prompt_bytes_});
    } else {
      PieceWriter writer(/*continues=*/false, sink);
      for (size_t at = 0; at < run_.size();) {
        const size_t length = Utf8Length(run_[at]);
        writer.Append(absl::string_view(run_).substr(at, length), at + length <= prompt_bytes_);
        at += length;
      }
      writer.Flush();
    }
    run_.clear();
    prompt_bytes_ = 0;
  }

  // Gives out all of a long run but an unfinished character.
  void ShortenRun(Sink sink) {
    size_t at = 0;
    while (at < run_.size()) {
      const Utf8Step step = StepUtf8(run_, at);
      if (step.kind == Utf8Step::Kind::kIncomplete) break;
      const bool from_prompt = at + step.length <= prompt_bytes_;
      if (step.kind == Utf8Step::Kind::kValid) {
        sink({absl::string_view(run_).substr(at, step.length), false, from_prompt});
      } else {
        for (int i = 0; i < step.length; ++i) sink({kReplacementCharacter, false, from_prompt});
      }
      at += step.length;
    }
    run_.erase(0, at);
    prompt_bytes_ -= std::min(prompt_bytes_, at);
  }

  const size_t max_held_bytes_;
  std::string run_;
  size_t prompt_bytes_ = 0;  // So many bytes of the run, the first, are the prompt's.
};

class FuseStage : public DecodeStage {
 public:
  void Push(const DecodePiece& piece, Sink sink) override {
    sink({piece.text, started_, piece.from_prompt});
    started_ = true;
  }

 private:
  bool started_ = false;
};

class ReplaceStage : public DecodeStage {
 public:
  ReplaceStage(std::string pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  void Push(const DecodePiece& piece, Sink sink) override {
    if (!absl::StrContains(piece.text, pattern_)) {
      sink(piece);
      return;
    }
    const std::string text = absl::StrReplaceAll(piece.text, {{pattern_, content_}});
    sink({text, piece.continues, piece.from_prompt});
  }

 private:
  const std::string pattern_;
  const std::string content_;
};

class StripStage : public DecodeStage {
 public:
  StripStage(std::string content, int64_t start, int64_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}

  void Push(const DecodePiece& piece, Sink sink) override {
    if (!piece.continues) left_ = start_;
    absl::string_view text = piece.text;
    while (left_ > 0 && !text.empty()) left_ = absl::ConsumePrefix(&text, content_) ? left_ - 1 : 0;
    for (int64_t i = 0; i < stop_ && absl::ConsumeSuffix(&text, content_); ++i) {
    }
    sink({text, piece.continues, piece.from_prompt});
  }

 private:
  const std::string content_;
  const int64_t start_;
  const int64_t stop_;
  int64_t left_ = 0;  // So many may still be dropped from the begin of the current token.
};

class MetaspaceStage : public DecodeStage {
 public:
  MetaspaceStage(std::string replacement, bool drop_in_first)
      : replacement_(std::move(replacement)), in_first_(drop_in_first) {}

  void Push(const DecodePiece& piece, Sink sink) override {
    const std::string text =
        absl::StrReplaceAll(piece.text, {{replacement_, in_first_ ? "" : " "}});
    in_first_ = false;
    sink({text, piece.continues, piece.from_prompt});
  }

 private:
  const std::string replacement_;
  bool in_first_;  // The next token is the first and loses its marks.
};

class JoinStage : public DecodeStage {
 public:
  void Push(const DecodePiece& piece, Sink sink) override {
    if (started_ && !piece.continues) sink({" ", false, piece.from_prompt});
    started_ = true;
    sink(piece);
  }

 private:
  bool started_ = false;
};

}  // namespace

int ByteOfToken(absl::string_view token) {
  if (token.size() != 6 || !absl::StartsWith(token, "<0x") || token[5] != '>') return -1;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) return -1;
    value = value * 16 + (absl::ascii_isdigit(static_cast<unsigned char>(c))
                              ? c - '0'
                              : absl::ascii_tolower(static_cast<unsigned char>(c)) - 'a' + 10);
  }
  return value;
}

std::unique_ptr<DecodeStage> MakeByteLevelStage() { return absl::make_unique<ByteLevelStage>(); }

std::unique_ptr<DecodeStage> MakeByteFallbackStage(int64_t max_held_bytes) {
  return absl::make_unique<ByteFallbackStage>(max_held_bytes);
}

std::unique_ptr<DecodeStage> MakeFuseStage() { return absl::make_unique<FuseStage>(); }

std::unique_ptr<DecodeStage> MakeReplaceStage(std::string pattern, std::string content) {
  return absl::make_unique<ReplaceStage>(std::move(pattern), std::move(content));
}

std::unique_ptr<DecodeStage> MakeStripStage(std::string content, int64_t start, int64_t stop) {
  return absl::make_unique<StripStage>(std::move(content), start, stop);
}

std::unique_ptr<DecodeStage> MakeMetaspaceStage(std::string replacement, bool drop_in_first) {
  return absl::make_unique<MetaspaceStage>(std::move(replacement), drop_in_first);
}

std::unique_ptr<DecodeStage> MakeJoinStage() { return absl::make_unique<JoinStage>(); }

}  // namespace phyllo
