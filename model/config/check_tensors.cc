#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/base/check.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/tensor_view.h"
#include "model/config/weight_map.h"
#include "model/tensor/dtype.h"

// The part of weight_map.h that looks into a checkpoint.

namespace phyllo {
namespace {

// True if `name` is `pattern` with digits in place of '*'.
bool Matches(absl::string_view pattern, absl::string_view name) {
  const size_t star = pattern.find('*');
  if (star == absl::string_view::npos) return pattern == name;
  const absl::string_view before = pattern.substr(0, star);
  const absl::string_view after = pattern.substr(star + 1);
  if (name.size() <= before.size() + after.size() || !absl::StartsWith(name, before) ||
      !absl::EndsWith(name, after))
    return false;
  const absl::string_view number =
      name.substr(before.size(), name.size() - before.size() - after.size());
  return number.find_first_not_of("0123456789") == absl::string_view::npos;
}

std::string ShapeText(absl::Span<const int64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

// The faults of a checkpoint, as one status.
class FaultList {
 public:
  void Add(absl::string_view fault) {
    // A fused tensor serves several specs; its faults are said once.
    if (seen_.insert(std::string(fault)).second && ++count_ <= kShown) faults_.emplace_back(fault);
  }

  absl::Status ToStatus() const {
    if (count_ == 0) return absl::OkStatus();
    std::string message =
        absl::StrCat("checkpoint does not fit its config: ", absl::StrJoin(faults_, "; "));
    if (count_ > kShown) absl::StrAppend(&message, "; and ", count_ - kShown, " more");
    return absl::InvalidArgumentError(message);
  }

 private:
  static constexpr int64_t kShown = 20;
  int64_t count_ = 0;
  std::vector<std::string> faults_;
  std::set<std::string> seen_;
};

// ReadWeightRows where the file holds [columns, all rows]: its line c has element c of every row.
void ReadColumns(const WeightSpec& spec, const TensorView& tensor, int64_t row, int64_t count,
                 absl::Span<float> dst) {
  if (count == 0) return;
  const int64_t all = spec.shape[1];
  const int64_t first = spec.TensorRow(row);
  std::vector<float> line(spec.TensorRow(row + count - 1) + 1 - first);
  for (int64_t c = 0; c < spec.columns; ++c) {
    ConvertToFloat(tensor.dtype, tensor.data.data() + (c * all + first) * ByteSize(tensor.dtype),
                   absl::MakeSpan(line));
    for (int64_t r = 0; r < count; ++r)
      dst[r * spec.columns + c] = line[spec.TensorRow(row + r) - first];
  }
}

}  // namespace

absl::StatusOr<const TensorView*> FindWeight(const WeightSpec& spec, const Checkpoint& checkpoint) {
  const TensorView* tensor = nullptr;
  for (const std::string& name : spec.names) {
    tensor = checkpoint.Find(name);
    if (tensor != nullptr) break;
  }
  if (tensor == nullptr)
    return absl::NotFoundError(absl::StrCat("tensor \"", spec.names.front(), "\" is missing"));
  if (!IsWeightDType(tensor->dtype)) {
    return absl::InvalidArgumentError(absl::StrCat("tensor \"", tensor->name, "\" has dtype ",
                                                   DTypeName(tensor->dtype),
                                                   ", weights are F32, F16 or BF16"));
  }
  if (tensor->shape != spec.shape) {
    return absl::InvalidArgumentError(absl::StrCat("tensor \"", tensor->name, "\" has shape ",
                                                   ShapeText(tensor->shape), ", the config needs ",
                                                   ShapeText(spec.shape)));
  }
  return tensor;
}

absl::Status CheckTensors(const WeightMap& map, const Checkpoint& checkpoint) {
  FaultList faults;
  std::set<std::string> expected;
  for (const WeightSpec& spec : map.specs) {
    const absl::StatusOr<const TensorView*> tensor = FindWeight(spec, checkpoint);
    if (!tensor.ok()) faults.Add(tensor.status().message());
    std::string first;
    for (const std::string& name : spec.names) {
      expected.insert(name);
      if (checkpoint.Find(name) == nullptr) continue;
      if (!first.empty())
        faults.Add(absl::StrCat("tensors \"", first, "\" and \"", name, "\" are the same weight"));
      if (first.empty()) first = name;
    }
  }
  const WeightSpec* embed_tokens = map.Find(WeightRole::kEmbedTokens);
  PHYLLO_CHECK(embed_tokens != nullptr);
  for (const std::string& name : map.tied_names) {
    expected.insert(name);
    const TensorView* head = checkpoint.Find(name);
    const absl::StatusOr<const TensorView*> embedding = FindWeight(*embed_tokens, checkpoint);
    if (head == nullptr || !embedding.ok()) continue;
    const bool equal = head->dtype == (*embedding)->dtype && head->shape == (*embedding)->shape &&
                       head->data == (*embedding)->data;
    if (!equal) {
      faults.Add(absl::StrCat("tensor \"", name, "\" differs from \"", (*embedding)->name,
                              "\" although tie_word_embeddings is true"));
    }
  }
  for (const TensorView& tensor : checkpoint.tensors()) {
    if (expected.count(tensor.name) != 0) continue;
    const bool ignored =
        std::any_of(map.ignored_names.begin(), map.ignored_names.end(),
                    [&](const std::string& pattern) { return Matches(pattern, tensor.name); });
    if (!ignored) faults.Add(absl::StrCat("tensor \"", tensor.name, "\" is superfluous"));
  }
  return faults.ToStatus();
}

void ReadWeightRows(const WeightSpec& spec, const TensorView& tensor, int64_t row,
                    absl::Span<float> dst) {
  const int64_t count = static_cast<int64_t>(dst.size()) / spec.columns;
  PHYLLO_CHECK(row >= 0 && row + count <= spec.rows &&
               count * spec.columns == static_cast<int64_t>(dst.size()));
  PHYLLO_CHECK(tensor.shape == spec.shape && IsWeightDType(tensor.dtype));
  if (spec.transposed) {
    ReadColumns(spec, tensor, row, count, dst);
    return;
  }
  const int64_t row_bytes = RunBytes(tensor.dtype, spec.columns);
  for (int64_t done = 0; done < count;) {
    const int64_t run = spec.ContiguousRows(row + done, count - done);
    ConvertToFloat(tensor.dtype, tensor.data.data() + spec.TensorRow(row + done) * row_bytes,
                   dst.subspan(done * spec.columns, run * spec.columns));
    done += run;
  }
}

}  // namespace phyllo
