#include "model/tokenizer/decoding/token_decoder.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/text/byte_level.h"
#include "model/tokenizer/text/json_fields.h"
#include "model/tokenizer/text/unicode.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

constexpr int kMaxDepth = 16;  // Of Sequence in Sequence.

// All Replace together may make a token so many times as long: a hostile file could make it grow
// without end.
constexpr size_t kMaxGrowth = 64;

bool IsOneCharacter(absl::string_view text) {
  return !text.empty() && static_cast<size_t>(Utf8Length(text[0])) == text.size();
}

absl::Status NeedsWholeTokens(absl::string_view type) {
  return absl::UnimplementedError(
      absl::StrCat("tokenizer.json: decoder ", type, " behind one that joins tokens"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TokenDecoder>> TokenDecoder::FromJson(
    const nlohmann::json& component) {
  auto decoder = absl::WrapUnique(new TokenDecoder());
  if (component.is_null()) {
    decoder->steps_.push_back({Kind::kJoin, "", ""});
  } else {
    PHYLLO_RETURN_IF_ERROR(decoder->Append(component, 0));
  }
  return decoder;
}

std::unique_ptr<TokenDecoder> TokenDecoder::ForSentencePiece(SentencePieceDecoding decoding) {
  auto decoder = absl::WrapUnique(new TokenDecoder());
  decoder->sentencepiece_ = std::move(decoding);
  return decoder;
}

absl::Status TokenDecoder::Append(const nlohmann::json& component, int depth) {
  PHYLLO_ASSIGN_OR_RETURN(const std::string type, ComponentType(component));
  if (type != "Sequence") {
    PHYLLO_ASSIGN_OR_RETURN(Step step, MakeStep(component, type));
    if (step.kind == Kind::kReplace) {
      growth_ *= std::max<size_t>(
          1, (step.content.size() + step.pattern.size() - 1) / step.pattern.size());
      if (growth_ > kMaxGrowth) {
        return absl::UnimplementedError(
            absl::StrCat("tokenizer.json: decoder Replace makes a token more than ", kMaxGrowth,
                         " times as long"));
      }
    }
    joined_ = joined_ || step.kind == Kind::kByteLevel || step.kind == Kind::kFuse;
    steps_.push_back(std::move(step));
    return absl::OkStatus();
  }
  const nlohmann::json* list = FindField(component, "decoders");
  if (list == nullptr || !list->is_array() || depth >= kMaxDepth) {
    return absl::InvalidArgumentError(
        "decoder Sequence: field \"decoders\" must be an array, not nested deeply");
  }
  for (const nlohmann::json& item : *list) PHYLLO_RETURN_IF_ERROR(Append(item, depth + 1));
  return absl::OkStatus();
}

absl::StatusOr<TokenDecoder::Step> TokenDecoder::MakeStep(const nlohmann::json& component,
                                                          const std::string& type) const {
  if (type == "Fuse") return Step{Kind::kFuse, "", ""};
  if (type == "ByteLevel" || type == "ByteFallback" || type == "Metaspace") {
    if (joined_) return NeedsWholeTokens(type);
    if (type == "ByteLevel") return Step{Kind::kByteLevel, "", ""};
    if (type == "ByteFallback") return Step{Kind::kByteFallback, "", ""};
    PHYLLO_ASSIGN_OR_RETURN(const std::string replacement,
                            StringFieldOr(component, "replacement", "\u2581"));
    PHYLLO_ASSIGN_OR_RETURN(const bool legacy_prefix,
                            BoolFieldOr(component, "add_prefix_space", true));
    PHYLLO_ASSIGN_OR_RETURN(
        const std::string scheme,
        StringFieldOr(component, "prepend_scheme", legacy_prefix ? "always" : "never"));
    if (!IsOneCharacter(replacement))
      return absl::InvalidArgumentError("decoder Metaspace: \"replacement\" is no character");
    return Step{Kind::kMetaspace, replacement, "", scheme == "never" ? 0 : 1};
  }
  if (type == "Replace") {
    const nlohmann::json* pattern = FindField(component, "pattern");
    if (pattern == nullptr)
      return absl::InvalidArgumentError("decoder Replace: field \"pattern\" is missing");
    if (FindField(*pattern, "Regex") != nullptr) {
      return absl::UnimplementedError(
          "tokenizer.json: decoder Replace of a regular expression is not supported");
    }
    PHYLLO_ASSIGN_OR_RETURN(std::string literal, StringField(*pattern, "String"));
    PHYLLO_ASSIGN_OR_RETURN(std::string content, StringField(component, "content"));
    if (literal.empty())
      return absl::InvalidArgumentError("decoder Replace: field \"pattern\" is empty");
    if (joined_ && !IsOneCharacter(literal))
      return NeedsWholeTokens("Replace of more than one character");
    return Step{Kind::kReplace, std::move(literal), std::move(content)};
  }
  if (type == "Strip") {
    PHYLLO_ASSIGN_OR_RETURN(std::string content, StringField(component, "content"));
    PHYLLO_ASSIGN_OR_RETURN(const int64_t start, IntegerFieldOr(component, "start", 0));
    PHYLLO_ASSIGN_OR_RETURN(const int64_t stop, IntegerFieldOr(component, "stop", 0));
    if (!IsOneCharacter(content))
      return absl::InvalidArgumentError("decoder Strip: \"content\" is no character");
    if (joined_ && stop > 0) return NeedsWholeTokens("Strip with stop > 0");
    return Step{Kind::kStrip, std::move(content), "", start, stop};
  }
  return UnknownComponent("decoder", type);
}

std::vector<std::unique_ptr<DecodeStage>> TokenDecoder::MakeStages(int64_t max_held_bytes) const {
  std::vector<std::unique_ptr<DecodeStage>> stages;
  if (sentencepiece_.has_value()) stages.push_back(MakeSentencePieceStage(*sentencepiece_));
  for (const Step& step : steps_) {
    switch (step.kind) {
      case Kind::kByteLevel:
        stages.push_back(MakeByteLevelStage());
        break;
      case Kind::kByteFallback:
        stages.push_back(MakeByteFallbackStage(max_held_bytes));
        break;
      case Kind::kFuse:
        stages.push_back(MakeFuseStage());
        break;
      case Kind::kReplace:
        stages.push_back(MakeReplaceStage(step.pattern, step.content));
        break;
      case Kind::kStrip:
        stages.push_back(MakeStripStage(step.pattern, step.start, step.stop));
        break;
      case Kind::kMetaspace:
        stages.push_back(MakeMetaspaceStage(step.pattern, step.start > 0));
        break;
      case Kind::kJoin:
        stages.push_back(MakeJoinStage());
        break;
    }
  }
  return stages;
}

std::string TokenDecoder::TokenBytes(absl::string_view token) const {
  if (sentencepiece_.has_value()) {
    if (token == sentencepiece_->unk_piece) return sentencepiece_->unk_surface;
    const int byte = sentencepiece_->byte_fallback ? ByteOfToken(token) : -1;
    if (byte >= 0) return std::string(1, static_cast<char>(byte));
    return absl::StrReplaceAll(token, {{"\u2581", " "}});
  }
  std::string bytes(token);
  for (const Step& step : steps_) {
    if (step.kind == Kind::kByteLevel) bytes = ByteLevelToBytes(bytes);
    if (step.kind == Kind::kByteFallback && ByteOfToken(token) >= 0)
      return std::string(1, static_cast<char>(ByteOfToken(token)));
    if (step.kind == Kind::kReplace)
      bytes = absl::StrReplaceAll(bytes, {{step.pattern, step.content}});
    if (step.kind == Kind::kMetaspace) bytes = absl::StrReplaceAll(bytes, {{step.pattern, " "}});
  }
  return bytes;
}

DecodeStream::DecodeStream(const TokenDecoder& decoder, int64_t max_held_bytes)
    : stages_(decoder.MakeStages(max_held_bytes)) {}

void DecodeStream::PushInto(size_t stage, const DecodePiece& piece, std::string* text) {
  if (stage < stages_.size()) {
    stages_[stage]->Push(piece, [&](const DecodePiece& next) { PushInto(stage + 1, next, text); });
  } else if (!piece.from_prompt) {
    text->append(piece.text.data(), piece.text.size());
  }
}

void DecodeStream::Push(absl::string_view token, bool from_prompt, std::string* text) {
  PushInto(0, {token, /*continues=*/false, from_prompt}, text);
}

void DecodeStream::Finish(std::string* text) {
  for (size_t stage = 0; stage < stages_.size(); ++stage) {
    stages_[stage]->Finish([&](const DecodePiece& piece) { PushInto(stage + 1, piece, text); });
  }
}

}  // namespace phyllo
