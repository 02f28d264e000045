// Decoding of ids as they come.
#ifndef PHYLLO_SERVICES_TOKENIZER_SEQUENCE_DECODER_H_
#define PHYLLO_SERVICES_TOKENIZER_SEQUENCE_DECODER_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "model/tokenizer/incremental_decoder.h"
#include "model/tokenizer/tokenizer.h"
#include "phyllo/tokenizer/v1/tokenizer.pb.h"

namespace phyllo {

// The bytes that `token_id` contributes; empty for the ids that pad a checkpoint's vocabulary.
std::string TokenBytes(const Tokenizer& tokenizer, int32_t token_id);

// The size of an answer while it is made. Ids are a hundred times shorter than what some of them
// stand for, so a request that is not too long may ask for more than a message, or the memory,
// holds. Thread-compatible.
class AnswerSize {
 public:
  explicit AnswerSize(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // INVALID_ARGUMENT if the answer is too long with a field of `byte_count` bytes.
  absl::Status Add(size_t byte_count);

 private:
  const int64_t max_bytes_;
  int64_t bytes_ = 0;
};

// Answers the requests of one sequence. Thread-compatible. Borrows the tokenizer.
class SequenceDecoder {
 public:
  SequenceDecoder(const Tokenizer& tokenizer, const tokenizer::v1::DecodeSequenceOptions& options);

  // Fills `response`, which is empty, and adds to `size`, whose errors are those of this. Ignores
  // the options. Not after a request that says finish.
  absl::Status Decode(const tokenizer::v1::DecodeSequenceRequest& request, AnswerSize& size,
                      tokenizer::v1::DecodeSequenceResponse& response);

 private:
  const Tokenizer& tokenizer_;
  IncrementalDecoder decoder_;
};

// Answers the requests of one DecodeSequences call: owns a decoder for each open sequence.
// Thread-compatible. Borrows the tokenizer.
class SequenceDecoders {
 public:
  static constexpr int64_t kMaxSequences = 65536;

  SequenceDecoders(const Tokenizer& tokenizer, int64_t max_answer_bytes)
      : tokenizer_(tokenizer), max_answer_bytes_(max_answer_bytes) {}

  // Fills `response`, which is empty, a piece for each of the request's. INVALID_ARGUMENT if a
  // sequence is given options after its first request or the answer is too long, RESOURCE_EXHAUSTED
  // beyond kMaxSequences.
  absl::Status Decode(const tokenizer::v1::DecodeSequencesRequest& request,
                      tokenizer::v1::DecodeSequencesResponse& response);

 private:
  const Tokenizer& tokenizer_;
  const int64_t max_answer_bytes_;
  absl::flat_hash_map<int64_t, SequenceDecoder> decoders_;  // by sequence_id
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TOKENIZER_SEQUENCE_DECODER_H_
