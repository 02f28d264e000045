#include "services/common/metrics.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

TEST(MetricRegistryTest, SerializesCountersWithLabels) {
  MetricRegistry metrics;
  metrics.AddCounter("phyllo_things_total", "Things.", {{"kind", "round"}}).Increment(3);
  EXPECT_THAT(
      metrics.SerializeText(),
      HasSubstr("# TYPE phyllo_things_total counter\nphyllo_things_total{kind=\"round\"} 3\n"));
}

TEST(MetricRegistryTest, ReturnsSameCounterForSameNameAndLabels) {
  MetricRegistry metrics;
  EXPECT_EQ(&metrics.AddCounter("phyllo_things_total", "Things."),
            &metrics.AddCounter("phyllo_things_total", "Things."));
}

TEST(MetricRegistryTest, AsksGaugeFunctionsAtEachScrape) {
  MetricRegistry metrics;
  double value = 1;
  metrics.AddGaugeFunction("phyllo_depth", "Depth.", [&value] { return value; });
  EXPECT_THAT(metrics.SerializeText(), HasSubstr("phyllo_depth 1\n"));
  value = 2;
  EXPECT_THAT(metrics.SerializeText(), HasSubstr("phyllo_depth 2\n"));
}

TEST(MetricRegistryTest, CountsIntoHistogramBuckets) {
  MetricRegistry metrics;
  metrics.AddHistogram("phyllo_wait_seconds", "Wait.", LatencyBuckets()).Observe(0.3);
  EXPECT_THAT(
      metrics.SerializeText(),
      HasSubstr(
          "phyllo_wait_seconds_bucket{le=\"0.25\"} 0\nphyllo_wait_seconds_bucket{le=\"0.5\"} 1\n"));
}

}  // namespace
}  // namespace phyllo
