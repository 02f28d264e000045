#include "model/transformer/precision/model_precision.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "model/base/status_macros.h"
#include "model/checkpoint/tensor_view.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

constexpr Precision kPrecisions[] = {Precision::kF32, Precision::kBf16, Precision::kInt8,
                                     Precision::kInt4};

// A module: its name, and where its precision stands.
struct Module {
  absl::string_view name;
  Precision ModelPrecision::*precision;
  std::optional<Precision> PrecisionChoice::*choice;
  absl::Span<const Precision> allowed;
};

const Module kModules[] = {
    {"attention", &ModelPrecision::attention, &PrecisionChoice::attention, kPrecisions},
    {"feed_forward", &ModelPrecision::feed_forward, &PrecisionChoice::feed_forward, kPrecisions},
    {"lm_head", &ModelPrecision::lm_head, &PrecisionChoice::lm_head, kPrecisions},
    {"kv_cache", &ModelPrecision::kv_cache, &PrecisionChoice::kv_cache,
     absl::MakeConstSpan(kPrecisions).first(3)},
};

// "f32, bf16 or int8".
template <typename Range, typename NameOf>
std::string Listed(const Range& range, NameOf name_of) {
  std::string text;
  for (auto it = std::begin(range); it != std::end(range); ++it) {
    if (it != std::begin(range)) text += std::next(it) == std::end(range) ? " or " : ", ";
    absl::StrAppend(&text, name_of(*it));
  }
  return text;
}

absl::StatusOr<Precision> ParseAllowed(absl::string_view text, absl::string_view what,
                                       absl::Span<const Precision> allowed,
                                       absl::string_view also_allowed) {
  for (const Precision precision : allowed) {
    if (text == PrecisionName(precision)) return precision;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(what, " \"", text, "\" must be ", also_allowed, Listed(allowed, PrecisionName)));
}

absl::Status ParseModule(absl::string_view part, PrecisionChoice& choice) {
  const std::pair<absl::string_view, absl::string_view> sides =
      absl::StrSplit(part, absl::MaxSplits('=', 1));
  const auto module =
      std::find_if(std::begin(kModules), std::end(kModules),
                   [&](const Module& candidate) { return candidate.name == sides.first; });
  if (module == std::end(kModules)) {
    return absl::InvalidArgumentError(
        absl::StrCat("precision of \"", sides.first, "\": the module must be ",
                     Listed(kModules, [](const Module& m) { return m.name; })));
  }
  std::optional<Precision>& target = choice.*(module->choice);
  if (target.has_value())
    return absl::InvalidArgumentError(absl::StrCat("precision of ", module->name, " said twice"));
  PHYLLO_ASSIGN_OR_RETURN(
      target,
      ParseAllowed(sides.second, absl::StrCat("precision of ", module->name), module->allowed, ""));
  return absl::OkStatus();
}

}  // namespace

const char* PrecisionName(Precision precision) {
  switch (precision) {
    case Precision::kF32:
      return "f32";
    case Precision::kBf16:
      return "bf16";
    case Precision::kInt8:
      return "int8";
    case Precision::kInt4:
      return "int4";
  }
  return "";
}

ModelPrecision ModelPrecision::Of(Precision base) {
  return {.attention = base,
          .feed_forward = base,
          .lm_head = base == Precision::kInt4 ? Precision::kInt8 : base,
          .kv_cache = base == Precision::kF32 ? Precision::kF32 : Precision::kBf16};
}

std::string ModelPrecision::ToString() const {
  std::string text = PrecisionName(feed_forward);
  const ModelPrecision implied = Of(feed_forward);
  for (const Module& module : kModules) {
    const Precision own = this->*(module.precision);
    if (own != implied.*(module.precision))
      absl::StrAppend(&text, ",", module.name, "=", PrecisionName(own));
  }
  return text;
}

ModelPrecision PrecisionChoice::Resolve(Precision automatic) const {
  ModelPrecision result = ModelPrecision::Of(base.value_or(automatic));
  for (const Module& module : kModules)
    result.*(module.precision) = (this->*(module.choice)).value_or(result.*(module.precision));
  return result;
}

absl::StatusOr<PrecisionChoice> ParsePrecisionChoice(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  PrecisionChoice choice;
  if (parts[0] != "auto") {
    PHYLLO_ASSIGN_OR_RETURN(choice.base,
                            ParseAllowed(parts[0], "precision", kPrecisions, "auto, "));
  }
  for (const absl::string_view part : absl::MakeConstSpan(parts).subspan(1))
    PHYLLO_RETURN_IF_ERROR(ParseModule(part, choice));
  return choice;
}

Precision AutomaticPrecision(const Checkpoint& checkpoint) {
  // Matrices only: the norms of GGUF files always have 32 bits.
  const bool is_short = std::all_of(
      checkpoint.tensors().begin(), checkpoint.tensors().end(), [](const TensorView& tensor) {
        return tensor.shape.size() < 2 || ByteSize(tensor.dtype) <= 2 * BlockElements(tensor.dtype);
      });
  return is_short ? Precision::kBf16 : Precision::kF32;
}

}  // namespace phyllo
