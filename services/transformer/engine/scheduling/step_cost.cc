#include "services/transformer/engine/scheduling/step_cost.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

absl::Status CheckPoints(absl::string_view name, const std::vector<CostPoint>& points) {
  int64_t previous = 0;
  for (const CostPoint& point : points) {
    if (point.row_count <= previous || !(point.seconds > 0.0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a point of the ", name, " cost has ", point.row_count, " rows and ", point.seconds,
          " seconds, must have more than ", previous, " rows and more than 0 seconds"));
    }
    previous = point.row_count;
  }
  return absl::OkStatus();
}

}  // namespace

CostCurve::CostCurve(std::vector<CostPoint> points)
    : points_(std::move(points)), adjustment_counts_(points_.size()) {
  for (size_t i = points_.size() - 1; i > 0; --i)
    points_[i - 1].seconds = std::min(points_[i - 1].seconds, points_[i].seconds);
}

CostCurve::Place CostCurve::Find(int64_t row_count) const {
  if (points_.size() == 1 || row_count <= points_.front().row_count) return {};
  const auto above =
      std::lower_bound(points_.begin() + 1, points_.end() - 1, row_count,
                       [](const CostPoint& point, int64_t rows) { return point.row_count < rows; });
  const CostPoint& left = *(above - 1);
  return {static_cast<size_t>(above - points_.begin()) - 1,
          static_cast<double>(row_count - left.row_count) /
              static_cast<double>(above->row_count - left.row_count)};
}

double CostCurve::Seconds(int64_t row_count) const {
  if (row_count <= 0) return 0.0;
  const Place place = Find(row_count);
  const double left = points_[place.index].seconds;
  if (place.fraction == 0.0) return left;
  return left + place.fraction * (points_[place.index + 1].seconds - left);
}

size_t CostCurve::Nearest(int64_t row_count) const {
  const Place place = Find(row_count);
  return place.fraction > 0.5 ? place.index + 1 : place.index;
}

double CostCurve::Rate(int64_t row_count) const {
  constexpr double kLeast = 0.1;
  return std::max(kLeast, 1.0 / static_cast<double>(2 + adjustment_counts_[Nearest(row_count)]));
}

void CostCurve::Adjust(int64_t row_count, double factor) {
  if (row_count <= 0) return;
  ++adjustment_counts_[Nearest(row_count)];
  const Place place = Find(row_count);
  const double right = std::min(place.fraction, 1.0);
  const double left = 1.0 - right;
  // As in normalised least mean squares: where both points take part, their changes are shared out
  // again by the same weights when the curve is read.
  const double change = (factor - 1.0) / (left * left + right * right);
  points_[place.index].seconds *= 1.0 + left * change;
  if (right > 0.0) points_[place.index + 1].seconds *= 1.0 + right * change;
  if (factor > 1.0) {
    for (size_t i = place.index + 1; i < points_.size(); ++i)
      points_[i].seconds = std::max(points_[i].seconds, points_[i - 1].seconds);
  } else {
    for (size_t i = place.index + (right > 0.0 ? 1 : 0); i > 0; --i)
      points_[i - 1].seconds = std::min(points_[i - 1].seconds, points_[i].seconds);
  }
}

StepCost::StepCost(CostCurve forward, std::vector<CostCurve> logits, double seconds_per_key)
    : forward_(std::move(forward)),
      logits_(std::move(logits)),
      seconds_per_decode_key_(seconds_per_key),
      seconds_per_prompt_key_(seconds_per_key) {}

absl::StatusOr<StepCost> StepCost::Create(const StepCostTable& table) {
  if (table.forward.empty())
    return absl::InvalidArgumentError("the cost of a step needs at least one measured point");
  PHYLLO_RETURN_IF_ERROR(CheckPoints("forward", table.forward));
  PHYLLO_RETURN_IF_ERROR(CheckPoints("logits", table.logits));
  std::vector<CostCurve> logits;
  if (!table.logits.empty()) logits.emplace_back(table.logits);
  return StepCost(CostCurve(table.forward), std::move(logits),
                  std::max(0.0, table.seconds_per_key));
}

StepCost::Parts StepCost::PartsOf(const StepShape& shape) const {
  return {.forward = forward_.Seconds(shape.row_count),
          .logits = logits_.empty() ? 0.0 : logits_.front().Seconds(shape.logits_row_count),
          .decode_keys = seconds_per_decode_key_ * static_cast<double>(shape.decode_key_count),
          .prompt_keys = seconds_per_prompt_key_ * static_cast<double>(shape.prompt_key_count)};
}

double StepCost::Seconds(const StepShape& shape) const { return PartsOf(shape).total(); }

void StepCost::Observe(const StepShape& shape, absl::Duration duration) {
  const Parts parts = PartsOf(shape);
  const double total = parts.total();
  if (total <= 0.0 || duration <= absl::ZeroDuration()) return;
  const double rate = forward_.Rate(shape.row_count);
  const double most = rate > 0.1 ? 4.0 : 2.0;
  const double error = std::clamp(absl::ToDoubleSeconds(duration) / total, 0.5, most) - 1.0;
  // The sum of part * (factor(part) - 1) is rate * error * total. With a weight of part itself, as
  // in least mean squares, a part that begins too small would take long to grow; with equal
  // weights, the parts would never be told apart.
  const auto weight = [](double part) { return std::sqrt(part); };
  const double sum = parts.forward * weight(parts.forward) + parts.logits * weight(parts.logits) +
                     parts.decode_keys * weight(parts.decode_keys) +
                     parts.prompt_keys * weight(parts.prompt_keys);
  const auto factor = [&](double part) { return 1.0 + rate * error * total * weight(part) / sum; };
  forward_.Adjust(shape.row_count, factor(parts.forward));
  if (!logits_.empty()) logits_.front().Adjust(shape.logits_row_count, factor(parts.logits));
  seconds_per_decode_key_ *= factor(parts.decode_keys);
  seconds_per_prompt_key_ *= factor(parts.prompt_keys);
}

}  // namespace phyllo
