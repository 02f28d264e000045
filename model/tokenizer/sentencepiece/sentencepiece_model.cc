// The tags are those of sentencepiece_model.proto (SentencePiece 0.2). Fields that are not read
// (training settings, self-test samples, extensions) are skipped; a field of the wrong wire type is
// an error.
#include "model/tokenizer/sentencepiece/sentencepiece_model.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/sentencepiece/protobuf_wire.h"
#include "model/tokenizer/text/unicode.h"

namespace phyllo {
namespace {

absl::Status ForEachField(absl::string_view message,
                          absl::FunctionRef<absl::Status(const WireField& field)> visit) {
  WireReader reader(message);
  while (!reader.AtEnd()) {
    PHYLLO_ASSIGN_OR_RETURN(const WireField field, reader.Next());
    PHYLLO_RETURN_IF_ERROR(visit(field));
  }
  return absl::OkStatus();
}

absl::Status CheckKind(const WireField& field, WireField::Kind kind) {
  if (field.kind == kind) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("field ", field.tag, " has the wrong wire type"));
}

absl::Status ReadString(const WireField& field, std::string* out) {
  PHYLLO_RETURN_IF_ERROR(CheckKind(field, WireField::Kind::kBytes));
  *out = std::string(field.bytes);
  return absl::OkStatus();
}

absl::Status ReadText(const WireField& field, std::string* out) {
  PHYLLO_RETURN_IF_ERROR(ReadString(field, out));
  if (FindInvalidUtf8(*out) < 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("field ", field.tag, " is not valid UTF-8"));
}

absl::Status ReadBool(const WireField& field, bool* out) {
  PHYLLO_RETURN_IF_ERROR(CheckKind(field, WireField::Kind::kVarint));
  *out = field.number != 0;
  return absl::OkStatus();
}

// Reads an enumeration of the values 1 ... `last`.
template <typename Enum>
absl::Status ReadEnum(const WireField& field, Enum last, Enum* out) {
  PHYLLO_RETURN_IF_ERROR(CheckKind(field, WireField::Kind::kVarint));
  if (field.number < 1 || field.number > static_cast<uint64_t>(last)) {
    return absl::InvalidArgumentError(
        absl::StrCat("field ", field.tag, " has the unknown value ", field.number));
  }
  *out = static_cast<Enum>(field.number);
  return absl::OkStatus();
}

absl::Status ReadPiece(absl::string_view message, SentencePieceModel* model) {
  SentencePieceModel::Piece piece;
  PHYLLO_RETURN_IF_ERROR(ForEachField(message, [&](const WireField& field) -> absl::Status {
    if (field.tag == 1) return ReadText(field, &piece.piece);
    if (field.tag == 3) return ReadEnum(field, SentencePieceModel::PieceType::kByte, &piece.type);
    if (field.tag != 2) return absl::OkStatus();
    PHYLLO_RETURN_IF_ERROR(CheckKind(field, WireField::Kind::kFixed32));
    const auto bits = static_cast<uint32_t>(field.number);
    std::memcpy(&piece.score, &bits, sizeof(bits));
    if (std::isnan(piece.score)) return absl::InvalidArgumentError("a score is not a number");
    return absl::OkStatus();
  }));
  if (piece.piece.empty())
    return absl::InvalidArgumentError(absl::StrCat("piece ", model->pieces.size(), " is empty"));
  model->pieces.push_back(std::move(piece));
  return absl::OkStatus();
}

absl::Status ReadTrainerSpec(absl::string_view message, SentencePieceModel* model) {
  return ForEachField(message, [&](const WireField& field) {
    switch (field.tag) {
      case 3:
        return ReadEnum(field, SentencePieceModel::ModelType::kChar, &model->model_type);
      case 24:
        return ReadBool(field, &model->treat_whitespace_as_suffix);
      case 35:
        return ReadBool(field, &model->byte_fallback);
      case 44:
        return ReadText(field, &model->unk_surface);
      case 46:
        return ReadText(field, &model->bos_piece);
      case 47:
        return ReadText(field, &model->eos_piece);
      case 48:
        return ReadText(field, &model->pad_piece);
      default:
        return absl::OkStatus();
    }
  });
}

absl::Status ReadNormalizerSpec(absl::string_view message, SentencePieceModel* model) {
  return ForEachField(message, [&](const WireField& field) {
    switch (field.tag) {
      case 2:
        return ReadString(field, &model->precompiled_charsmap);
      case 3:
        return ReadBool(field, &model->add_dummy_prefix);
      case 4:
        return ReadBool(field, &model->remove_extra_whitespaces);
      case 5:
        return ReadBool(field, &model->escape_whitespaces);
      default:
        return absl::OkStatus();
    }
  });
}

absl::Status ReadDenormalizerSpec(absl::string_view message, SentencePieceModel* model) {
  return ForEachField(message, [&](const WireField& field) {
    if (field.tag == 2 && !field.bytes.empty()) model->has_denormalizer = true;
    return absl::OkStatus();
  });
}

}  // namespace

absl::StatusOr<SentencePieceModel> ParseSentencePieceModel(absl::string_view bytes) {
  SentencePieceModel model;
  PHYLLO_RETURN_IF_ERROR(ForEachField(bytes, [&](const WireField& field) -> absl::Status {
    if (field.tag != 1 && field.tag != 2 && field.tag != 3 && field.tag != 5)
      return absl::OkStatus();
    PHYLLO_RETURN_IF_ERROR(CheckKind(field, WireField::Kind::kBytes));
    if (field.tag == 1) return ReadPiece(field.bytes, &model);
    if (field.tag == 2) return ReadTrainerSpec(field.bytes, &model);
    if (field.tag == 3) return ReadNormalizerSpec(field.bytes, &model);
    return ReadDenormalizerSpec(field.bytes, &model);
  }));
  if (model.pieces.empty()) return absl::InvalidArgumentError("there are no pieces");
  return model;
}

}  // namespace phyllo
