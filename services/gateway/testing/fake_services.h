// The three services behind a gateway, small enough to check in one's head, for tests of the
// gateway.
//
// The model is a toy: a token is a byte (ids 0 to 255), 256 ends the answer. A row of the embedding
// is the id itself as one float.
#ifndef PHYLLO_SERVICES_GATEWAY_TESTING_FAKE_SERVICES_H_
#define PHYLLO_SERVICES_GATEWAY_TESTING_FAKE_SERVICES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "phyllo/embedding/v1/embedding.grpc.pb.h"
#include "phyllo/tokenizer/v1/tokenizer.grpc.pb.h"
#include "phyllo/transformer/v1/transformer.grpc.pb.h"

namespace phyllo {

inline constexpr int32_t kFakeEos = 256;
inline constexpr int32_t kFakePairXy = 1;  // "xy" as one token; byte 1 is in no text here
inline constexpr int32_t kFakeVocabSize = 257;
inline constexpr int64_t kFakeMaxSequenceLength = 64;
inline constexpr int64_t kFakeHiddenSize = 3;  // Of what Encode gives.
inline constexpr int64_t kFakeMaxRows = 4;     // Of one answer of the embedding.

// An address of this machine that nobody else has, for servers that come back where they were:
// another process may have taken a port meanwhile.
std::string UniqueAddress();

// What every fake says of itself; tests change it before the server starts.
common::v1::ServerInfo FakeServerInfo();

// Encodes bytes and the pair "xy", decodes whole UTF-8 characters (DecodeSequences only), renders a
// chat as "role:content|" for each message.
class FakeTokenizer final : public tokenizer::v1::TokenizerService::Service {
 public:
  common::v1::ServerInfo info = FakeServerInfo();
  std::atomic<int> encode_count{0};
  std::atomic<int> decode_call_count{0};  // of DecodeSequences
  // Called with every request of DecodeSequences before it is answered. May be empty.
  std::function<void(const tokenizer::v1::DecodeSequencesRequest&)> on_decode;

  grpc::Status Encode(grpc::ServerContext* context, const tokenizer::v1::EncodeRequest* request,
                      tokenizer::v1::EncodeResponse* response) override;
  grpc::Status Decode(grpc::ServerContext* context, const tokenizer::v1::DecodeRequest* request,
                      tokenizer::v1::DecodeResponse* response) override;
  grpc::Status DecodeSequences(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<tokenizer::v1::DecodeSequencesResponse,
                               tokenizer::v1::DecodeSequencesRequest>* stream) override;
  grpc::Status RenderChat(grpc::ServerContext* context,
                          const tokenizer::v1::RenderChatRequest* request,
                          tokenizer::v1::RenderChatResponse* response) override;
  grpc::Status GetInfo(grpc::ServerContext* context, const tokenizer::v1::GetInfoRequest* request,
                       tokenizer::v1::GetInfoResponse* response) override;
};

class FakeEmbedding final : public embedding::v1::EmbeddingService::Service {
 public:
  common::v1::ServerInfo info = FakeServerInfo();
  std::atomic<int> embed_count{0};

  grpc::Status Embed(grpc::ServerContext* context, const embedding::v1::EmbedRequest* request,
                     embedding::v1::EmbedResponse* response) override;
  grpc::Status GetInfo(grpc::ServerContext* context, const embedding::v1::GetInfoRequest* request,
                       embedding::v1::GetInfoResponse* response) override;
};

// Runs a script for every generation: by default asks for all rows of the prompt, checks them, and
// gives `answer` and the end.
class FakeTransformer final : public transformer::v1::TransformerService::Service {
 public:
  using Stream =
      grpc::ServerReaderWriter<transformer::v1::GenerateResponse, transformer::v1::GenerateRequest>;
  using Script = std::function<grpc::Status(grpc::ServerContext&,
                                            const transformer::v1::GenerateStart&, Stream&)>;

  common::v1::ServerInfo info = FakeServerInfo();
  std::vector<std::string> labels;  // of its label head; none: an LM head
  common::v1::ProblemType problem_type = common::v1::PROBLEM_TYPE_UNSPECIFIED;
  std::string answer = "Hello";
  int64_t tokens_per_message = 1;
  Script script;  // If set, instead of the default.
  std::atomic<int> generate_count{0};

  // The start of the last generation.
  transformer::v1::GenerateStart last_start() const ABSL_LOCKS_EXCLUDED(mutex_);

  grpc::Status Generate(grpc::ServerContext* context, Stream* stream) override;
  // Gives a vector [3] of an input of n ids: (first id, last id, n); with labels, if the pooling is
  // left open, the logit of label i is last id - i. An input that ends with kFakeEos is INTERNAL.
  grpc::Status Encode(grpc::ServerContext* context,
                      grpc::ServerReaderWriter<transformer::v1::EncodeResponse,
                                               transformer::v1::EncodeRequest>* stream) override;
  // Gives every scored id the log-probability -1.
  grpc::Status Score(grpc::ServerContext* context,
                     grpc::ServerReaderWriter<transformer::v1::ScoreResponse,
                                              transformer::v1::ScoreRequest>* stream) override;
  grpc::Status GetInfo(grpc::ServerContext* context, const transformer::v1::GetInfoRequest* request,
                       transformer::v1::GetInfoResponse* response) override;

  // Parts of scripts. SendText sends the bytes of `text` as tokens, PullRows asks for positions
  // [first, first + count) and returns whether the right rows came, SendFinished ends well,
  // WaitForCancel returns when the caller has left.
  static bool PullRows(const transformer::v1::GenerateStart& start, int64_t first, int64_t count,
                       Stream& stream);
  static void SendText(const std::string& text, int64_t tokens_per_message, Stream& stream,
                       bool with_logprobs = false);
  static void SendFinished(common::v1::FinishReason reason, Stream& stream);
  static void WaitForCancel(Stream& stream);

 private:
  grpc::Status RunDefaultScript(const transformer::v1::GenerateStart& start, Stream& stream) const;

  mutable absl::Mutex mutex_;
  transformer::v1::GenerateStart last_start_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_TESTING_FAKE_SERVICES_H_
