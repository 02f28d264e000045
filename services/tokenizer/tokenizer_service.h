// The tokenizer over gRPC.
#ifndef PHYLLO_SERVICES_TOKENIZER_TOKENIZER_SERVICE_H_
#define PHYLLO_SERVICES_TOKENIZER_TOKENIZER_SERVICE_H_

#include <cstdint>

#include "grpcpp/support/server_callback.h"
#include "model/tokenizer/chat_template.h"
#include "model/tokenizer/tokenizer.h"
#include "phyllo/tokenizer/v1/tokenizer.grpc.pb.h"
#include "services/common/calls/call_limit.h"
#include "services/common/message_limits.h"
#include "services/common/server_identity.h"

namespace phyllo {

struct TokenizerServiceOptions {
  int64_t max_text_bytes = int64_t{8}
                           << 20;  // Of one Encode, and of the strings of one RenderChat together.
  int64_t max_streams = 512;       // DecodeSequences under way; more get RESOURCE_EXHAUSTED.
  // Of the text, and the bytes of single ids, in one answer of Decode or DecodeSequences.
  int64_t max_answer_bytes = kMaxMessageBytes;
};

// Converts, delegates, converts back; tokenizer.proto is the contract. DecodeSequences holds no
// thread; Encode, Decode and RenderChat have one each, because a text of megabytes would hold up
// the few in which gRPC calls back. Borrows its arguments. Thread-safe.
// Outlives its calls.
class TokenizerServiceImpl final
    : public tokenizer::v1::TokenizerService::WithCallbackMethod_DecodeSequences<
          tokenizer::v1::TokenizerService::Service> {
 public:
  // `chat_template` is null if the model has none.
  TokenizerServiceImpl(const Tokenizer& tokenizer, const ChatTemplate* chat_template,
                       const ServerIdentity& identity, const TokenizerServiceOptions& options);

  grpc::Status Encode(grpc::ServerContext* context, const tokenizer::v1::EncodeRequest* request,
                      tokenizer::v1::EncodeResponse* response) override;
  grpc::Status Decode(grpc::ServerContext* context, const tokenizer::v1::DecodeRequest* request,
                      tokenizer::v1::DecodeResponse* response) override;
  grpc::ServerBidiReactor<tokenizer::v1::DecodeSequencesRequest,
                          tokenizer::v1::DecodeSequencesResponse>*
  DecodeSequences(grpc::CallbackServerContext* context) override;
  grpc::Status RenderChat(grpc::ServerContext* context,
                          const tokenizer::v1::RenderChatRequest* request,
                          tokenizer::v1::RenderChatResponse* response) override;
  grpc::Status GetInfo(grpc::ServerContext* context, const tokenizer::v1::GetInfoRequest* request,
                       tokenizer::v1::GetInfoResponse* response) override;

 private:
  absl::Status CheckIds(const google::protobuf::RepeatedField<int32_t>& token_ids) const;
  absl::Status CheckTextSize(absl::string_view field, int64_t byte_count) const;

  const Tokenizer& tokenizer_;
  const ChatTemplate* const chat_template_;
  const ServerIdentity& identity_;
  const TokenizerServiceOptions options_;
  CallLimit streams_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TOKENIZER_TOKENIZER_SERVICE_H_
