// A step allocates nothing. Counts every allocation of the program, so it is a program of its own.
// One kind is not ours to avoid: oneDNN 3.7's dnnl_brgemm::execute makes a vector of one 40-byte
// element per kernel call.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <tuple>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/kv_cache/sequence_pages.h"
#include "model/sampling/logits_row.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"
#include "model/transformer/precision/model_precision.h"
#include "model/transformer/step_slice.h"
#include "model/transformer/testing/model_runner.h"
#include "model/transformer/testing/toy_models.h"
#include "model/transformer/transformer.h"

namespace {

std::atomic<int64_t> allocation_count{0};

constexpr std::size_t kBrgemmBatchElementSize = 40;

void* CountedAllocation(std::size_t size) {
  if (size != kBrgemmBatchElementSize) allocation_count.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size);
}

}  // namespace

void* operator new(std::size_t size) { return CountedAllocation(size); }
void* operator new[](std::size_t size) { return CountedAllocation(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace phyllo {
namespace {

class TransformerAllocationTest
    : public testing::TestWithParam<std::tuple<const char*, Precision>> {};

TEST_P(TransformerAllocationTest, AllocatesNothingInAStep) {
  const auto& [model, precision] = GetParam();
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::string directory, WriteToyModel(FindToyModel(model)));
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const auto runner,
      ModelRunner::Load(directory, {.precision = ModelPrecision::Of(precision), .num_threads = 2}));
  const int64_t d = runner->transformer().description().hidden_size;
  const int64_t v = runner->vocab_size();
  SequencePages prefilling = runner->NewSequence();
  SequencePages decoding = runner->NewSequence();
  PHYLLO_ASSERT_OK(prefilling.Resize(70));
  PHYLLO_ASSERT_OK(decoding.Resize(70));
  std::vector<float> hidden(41 * d, 0.5f), logits(2 * v);
  LargestLogit largest;
  const std::vector<StepSlice> slices = {{.row_begin = 0,
                                          .row_count = 40,
                                          .first_position = 0,
                                          .prompt_length = 40,
                                          .pages = &prefilling},
                                         {.row_begin = 40,
                                          .row_count = 1,
                                          .first_position = 0,
                                          .prompt_length = 1,
                                          .pages = &decoding}};
  const std::vector<int64_t> rows = {39, 40};
  const int64_t before = allocation_count.load();
  const absl::Status forward = runner->transformer().Forward(slices, {hidden.data(), 41, d, d});
  absl::Status head = runner->transformer().ComputeLogits(rows, {hidden.data(), 41, d, d},
                                                          {logits.data(), 2, v, v});
  head.Update(runner->transformer().ComputeLogits(
      rows, {hidden.data(), 41, d, d}, absl::MakeSpan(&largest, 1), {logits.data(), 1, v, v}));
  const int64_t after = allocation_count.load();
  PHYLLO_ASSERT_OK(forward);
  PHYLLO_ASSERT_OK(head);
  EXPECT_EQ(after - before, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Models, TransformerAllocationTest,
    testing::Combine(testing::Values("Qwen3", "Qwen3Moe"),
                     testing::Values(Precision::kF32, Precision::kBf16, Precision::kInt8,
                                     Precision::kInt4)),
    [](const testing::TestParamInfo<TransformerAllocationTest::ParamType>& info) {
      return std::string(std::get<0>(info.param)) + "_" + PrecisionName(std::get<1>(info.param));
    });

}  // namespace
}  // namespace phyllo
