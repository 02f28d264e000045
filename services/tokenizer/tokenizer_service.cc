#include "services/tokenizer/tokenizer_service.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "services/common/status_bridge.h"
#include "services/tokenizer/chat_conversion.h"
#include "services/tokenizer/sequence_decoder.h"

namespace phyllo {

using tokenizer::v1::DecodeRequest;
using tokenizer::v1::DecodeResponse;
using tokenizer::v1::DecodeSequencesRequest;
using tokenizer::v1::DecodeSequencesResponse;
using tokenizer::v1::EncodeRequest;
using tokenizer::v1::EncodeResponse;
using tokenizer::v1::GetInfoRequest;
using tokenizer::v1::GetInfoResponse;
using tokenizer::v1::RenderChatRequest;
using tokenizer::v1::RenderChatResponse;

namespace {

// Answers one request after the other, in gRPC's threads. Lives until gRPC calls OnDone.
class DecodeSequencesCall final
    : public grpc::ServerBidiReactor<DecodeSequencesRequest, DecodeSequencesResponse> {
 public:
  // Ends at once if it has no place among the calls.
  DecodeSequencesCall(const Tokenizer& tokenizer, int64_t max_answer_bytes,
                      absl::StatusOr<CallPermit> permit)
      : permit_(std::move(permit)), decoders_(tokenizer, max_answer_bytes) {
    if (permit_.ok()) {
      StartRead(&request_);
    } else {
      Finish(ToGrpcStatus(permit_.status()));
    }
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::OK);
      return;
    }
    response_.Clear();
    const absl::Status decoded = decoders_.Decode(request_, response_);
    if (decoded.ok()) {
      StartWrite(&response_);
    } else {
      Finish(ToGrpcStatus(decoded));
    }
  }

  void OnWriteDone(bool ok) override {
    if (ok) {
      StartRead(&request_);
    } else {
      Finish(grpc::Status::OK);
    }
  }

  void OnDone() override { delete this; }

 private:
  const absl::StatusOr<CallPermit> permit_;
  SequenceDecoders decoders_;
  DecodeSequencesRequest request_;
  DecodeSequencesResponse response_;
};

}  // namespace

TokenizerServiceImpl::TokenizerServiceImpl(const Tokenizer& tokenizer,
                                           const ChatTemplate* chat_template,
                                           const ServerIdentity& identity,
                                           const TokenizerServiceOptions& options)
    : tokenizer_(tokenizer),
      chat_template_(chat_template),
      identity_(identity),
      options_(options),
      streams_(options.max_streams) {}

grpc::Status TokenizerServiceImpl::Encode(grpc::ServerContext*, const EncodeRequest* request,
                                          EncodeResponse* response) {
  const absl::Status size = CheckTextSize("text", static_cast<int64_t>(request->text().size()));
  if (!size.ok()) return ToGrpcStatus(size);
  EncodeOptions options;
  options.add_special_tokens = !request->has_add_special_tokens() || request->add_special_tokens();
  options.parse_special_tokens = request->parse_special_tokens();
  options.with_offsets = request->with_offsets();
  const absl::StatusOr<Encoding> encoding = tokenizer_.Encode(request->text(), options);
  if (!encoding.ok()) return ToGrpcStatus(encoding.status());
  response->mutable_token_ids()->Add(encoding->ids.begin(), encoding->ids.end());
  for (const ByteRange& range : encoding->offsets) {
    tokenizer::v1::ByteRange& offset = *response->add_offsets();
    offset.set_begin(range.begin);
    offset.set_end(range.end);
  }
  return grpc::Status::OK;
}

grpc::Status TokenizerServiceImpl::Decode(grpc::ServerContext*, const DecodeRequest* request,
                                          DecodeResponse* response) {
  const absl::Status valid = CheckIds(request->token_ids());
  if (!valid.ok()) return ToGrpcStatus(valid);
  AnswerSize size(options_.max_answer_bytes);
  for (const int32_t token_id : request->token_ids()) {
    std::string bytes = TokenBytes(tokenizer_, token_id);
    // The text takes as many again.
    const absl::Status fits = size.Add(2 * bytes.size());
    if (!fits.ok()) return ToGrpcStatus(fits);
    response->add_tokens(std::move(bytes));
  }
  const bool skip_special_tokens =
      !request->has_skip_special_tokens() || request->skip_special_tokens();
  response->set_text(tokenizer_.Decode(request->token_ids(), skip_special_tokens));
  return grpc::Status::OK;
}

grpc::ServerBidiReactor<DecodeSequencesRequest, DecodeSequencesResponse>*
TokenizerServiceImpl::DecodeSequences(grpc::CallbackServerContext*) {
  return new DecodeSequencesCall(tokenizer_, options_.max_answer_bytes, streams_.Admit());
}

grpc::Status TokenizerServiceImpl::RenderChat(grpc::ServerContext*,
                                              const RenderChatRequest* request,
                                              RenderChatResponse* response) {
  if (chat_template_ == nullptr) {
    return ToGrpcStatus(WithReason(absl::FailedPreconditionError("the model has no chat template"),
                                   {"NO_CHAT_TEMPLATE", {}}));
  }
  const absl::Status size =
      CheckTextSize("chat", static_cast<int64_t>(request->chat().ByteSizeLong()));
  if (!size.ok()) return ToGrpcStatus(size);
  const absl::StatusOr<ChatRequest> chat =
      ConvertChat(request->chat(), request->parse_special_tokens());
  if (!chat.ok()) return ToGrpcStatus(chat.status());
  absl::StatusOr<RenderedChat> rendered = chat_template_->Render(*chat);
  if (!rendered.ok()) return ToGrpcStatus(rendered.status());
  response->set_text(std::move(rendered->text));
  response->mutable_token_ids()->Add(rendered->ids.begin(), rendered->ids.end());
  for (PromptSegment& part : rendered->segments) {
    tokenizer::v1::ChatSegment& segment = *response->add_segments();
    segment.set_text(std::move(part.text));
    segment.set_is_template(part.kind == PromptSegment::Kind::kControl);
  }
  return grpc::Status::OK;
}

grpc::Status TokenizerServiceImpl::GetInfo(grpc::ServerContext*, const GetInfoRequest*,
                                           GetInfoResponse* response) {
  *response->mutable_server() = identity_.Describe();
  response->set_vocab_size(tokenizer_.vocab_size());
  response->set_has_chat_template(chat_template_ != nullptr);
  response->set_max_text_bytes(options_.max_text_bytes);
  const TokenizerConfig& config = tokenizer_.config();
  if (config.bos_token_id.has_value()) response->set_bos_token_id(*config.bos_token_id);
  if (config.eos_token_id.has_value()) response->set_eos_token_id(*config.eos_token_id);
  return grpc::Status::OK;
}

absl::Status TokenizerServiceImpl::CheckIds(
    const google::protobuf::RepeatedField<int32_t>& token_ids) const {
  for (const int32_t token_id : token_ids) {
    if (token_id < 0 || token_id >= tokenizer_.vocab_size()) {
      return InvalidField("token_ids",
                          absl::StrCat(token_id, " is outside [0, ", tokenizer_.vocab_size(), ")"));
    }
  }
  return absl::OkStatus();
}

absl::Status TokenizerServiceImpl::CheckTextSize(absl::string_view field,
                                                 int64_t byte_count) const {
  if (byte_count <= options_.max_text_bytes) return absl::OkStatus();
  return InvalidField(field, absl::StrCat("is ", byte_count, " bytes long; at most ",
                                          options_.max_text_bytes, " are accepted"));
}

}  // namespace phyllo
