#include "services/transformer/engine/admission/request_bytes.h"

#include <vector>

#include "gtest/gtest.h"
#include "model/heads/pooling.h"
#include "services/transformer/engine/sequence.h"

namespace phyllo {
namespace {

constexpr int64_t kHiddenSize = 64;

TEST(RequestBytesTest, CountsTokensListsAndNames) {
  SequenceRequest request;
  request.prompt_token_ids = {1};
  const int64_t plain = RequestBytes(request, kHiddenSize);
  request.prompt_token_ids.resize(1001);
  EXPECT_GE(RequestBytes(request, kHiddenSize), plain + 1000 * 3 * 4);
  request.prompt_token_ids.resize(1);
  request.sampling.allowed_token_ids.resize(1000);
  EXPECT_GE(RequestBytes(request, kHiddenSize), plain + 1000 * 4);
  request.sampling.allowed_token_ids.clear();
  request.sampling.banned_sequences.assign(100, std::vector<int32_t>(256));
  EXPECT_GE(RequestBytes(request, kHiddenSize), plain + 100 * 256 * 4);
  request.sampling.banned_sequences.clear();
  request.prompt_logprobs.logprob_token_ids.resize(100);
  request.cache_name.resize(1000);
  EXPECT_GE(RequestBytes(request, kHiddenSize), plain + 100 * 4 + 1000);
}

TEST(RequestBytesTest, EncodingOfEveryTokenCountsItsVectors) {
  SequenceRequest request;
  request.prompt_token_ids.resize(100);
  request.encoding = EncodingRequest{.pooling = Pooling::kMean};
  const int64_t one_vector = RequestBytes(request, kHiddenSize);
  request.encoding->pooling = Pooling::kNone;
  EXPECT_GE(RequestBytes(request, kHiddenSize), one_vector + 99 * kHiddenSize * 4 * 2);
}

}  // namespace
}  // namespace phyllo
