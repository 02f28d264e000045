#include "services/transformer/engine/admission/request_bytes.h"

#include <cstdint>
#include <vector>

#include "model/heads/pooling.h"
#include "model/sampling/sampling_parameters.h"
#include "services/transformer/engine/sequence_outbox.h"

namespace phyllo {
namespace {

template <typename Container>
int64_t BytesOf(const Container& container) {
  return static_cast<int64_t>(container.size() * sizeof(typename Container::value_type));
}

int64_t ParameterBytes(const SamplingParameters& parameters) {
  int64_t bytes = BytesOf(parameters.banned_sequences) + BytesOf(parameters.logit_bias) +
                  BytesOf(parameters.allowed_token_ids) + BytesOf(parameters.stop_token_ids) +
                  BytesOf(parameters.logprob_token_ids);
  for (const std::vector<int32_t>& sequence : parameters.banned_sequences)
    bytes += BytesOf(sequence);
  // A hash set is half empty at times, and has a byte of control an element.
  if (parameters.dry)
    bytes += 2 * (BytesOf(parameters.dry->breaker_token_ids) +
                  static_cast<int64_t>(parameters.dry->breaker_token_ids.size()));
  return bytes;
}

}  // namespace

int64_t RequestBytes(const SequenceRequest& request, int64_t hidden_size) {
  // The sequence, its outbox, page tables and places in maps.
  constexpr int64_t kFixedBytes = 4096;
  // Copies while a request is handed over and converted.
  constexpr int64_t kCopies = 2;
  const auto prompt_count = static_cast<int64_t>(request.prompt_token_ids.size());
  const auto generated_count = static_cast<int64_t>(request.generated_token_ids.size());
  int64_t bytes =
      kFixedBytes + kCopies * (BytesOf(request.cache_name) + ParameterBytes(request.sampling) +
                               ParameterBytes(request.prompt_logprobs));
  bytes += (prompt_count + generated_count) * kSequenceTokenBytes;
  if (request.encoding) {
    const int64_t rows = request.encoding->pooling == Pooling::kNone ? prompt_count : 1;
    // The vectors are in the pooler or the result, in a message, and in its serialised form.
    bytes += 3 * rows * hidden_size * static_cast<int64_t>(sizeof(float));
  }
  return bytes;
}

}  // namespace phyllo
