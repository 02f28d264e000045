#include "services/gateway/testing/fake_services.h"

#include <cstring>
#include <map>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace phyllo {
namespace {

using tokenizer::v1::DecodeSequenceRequest;
using tokenizer::v1::DecodeSequenceResponse;
using tokenizer::v1::DecodeSequencesRequest;
using tokenizer::v1::DecodeSequencesResponse;
using transformer::v1::GenerateRequest;
using transformer::v1::GenerateResponse;
using transformer::v1::GenerateStart;

std::string TokenBytes(int32_t token_id) {
  return token_id < 256 ? std::string(1, static_cast<char>(token_id)) : "";
}

// Bytes of `text` that are whole UTF-8 characters; the rest is the beginning of one. The fakes'
// texts are valid otherwise.
size_t WholeCharacters(const std::string& text) {
  size_t end = 0;
  while (end < text.size()) {
    const auto lead = static_cast<uint8_t>(text[end]);
    const size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (end + size > text.size()) break;
    end += size;
  }
  return end;
}

// The unfinished character that a prompt ends with.
std::string UnfinishedTail(const google::protobuf::RepeatedField<int32_t>& token_ids) {
  std::string text;
  for (const int32_t id : token_ids) text += TokenBytes(id);
  return text.substr(WholeCharacters(text));
}

// Answers the next request of a sequence; `held` is the unfinished character it stands at.
void DecodeBytes(const DecodeSequenceRequest& request, std::string& held,
                 DecodeSequenceResponse& response) {
  response.set_sequence_id(request.sequence_id());
  for (const int32_t id : request.token_ids()) held += TokenBytes(id);
  for (const int32_t id : request.lookup_token_ids()) response.add_lookup_tokens(TokenBytes(id));
  const size_t whole = WholeCharacters(held);
  response.set_text_delta(held.substr(0, whole));
  held.erase(0, whole);
  if (request.finish() && !held.empty()) response.mutable_text_delta()->append("\xEF\xBF\xBD");
}

void AddBytes(const std::string& text, google::protobuf::RepeatedField<int32_t>& token_ids) {
  for (const char c : text) token_ids.Add(static_cast<uint8_t>(c));
}

// Whether `rows` are the rows that FakeEmbedding gives for ids [first, ...) and there is at least
// one.
bool AreRowsOf(const common::v1::Tensor& rows,
               const google::protobuf::RepeatedField<int32_t>& token_ids, int64_t first) {
  const auto count = static_cast<int64_t>(rows.data().size() / sizeof(float));
  if (count < 1 || first + count > token_ids.size()) return false;
  std::vector<float> values(count);
  std::memcpy(values.data(), rows.data().data(), rows.data().size());
  for (int64_t i = 0; i < count; ++i) {
    if (values[i] != static_cast<float>(token_ids[static_cast<int>(first + i)])) return false;
  }
  return true;
}

}  // namespace

std::string UniqueAddress() {
  std::random_device entropy;
  return absl::StrCat("unix-abstract:phyllo-", absl::Hex(entropy()), absl::Hex(entropy()));
}

common::v1::ServerInfo FakeServerInfo() {
  common::v1::ServerInfo info;
  info.set_model("toy");
  info.set_proto_version_major(1);
  info.mutable_fingerprint()->set_config_sha256(std::string(32, 'c'));
  return info;
}

grpc::Status FakeTokenizer::Encode(grpc::ServerContext*,
                                   const tokenizer::v1::EncodeRequest* request,
                                   tokenizer::v1::EncodeResponse* response) {
  ++encode_count;
  AddBytes(absl::StrReplaceAll(request->text(), {{"xy", std::string(1, kFakePairXy)}}),
           *response->mutable_token_ids());
  return grpc::Status::OK;
}

grpc::Status FakeTokenizer::Decode(grpc::ServerContext*,
                                   const tokenizer::v1::DecodeRequest* request,
                                   tokenizer::v1::DecodeResponse* response) {
  for (const int32_t id : request->token_ids()) {
    response->add_tokens(TokenBytes(id));
    response->mutable_text()->append(TokenBytes(id));
  }
  return grpc::Status::OK;
}

grpc::Status FakeTokenizer::DecodeSequences(
    grpc::ServerContext*,
    grpc::ServerReaderWriter<DecodeSequencesResponse, DecodeSequencesRequest>* stream) {
  ++decode_call_count;
  std::map<int64_t, std::string> held_by_id;
  DecodeSequencesRequest request;
  while (stream->Read(&request)) {
    if (on_decode) on_decode(request);
    DecodeSequencesResponse response;
    for (const DecodeSequenceRequest& piece : request.pieces()) {
      const auto [held, first] = held_by_id.try_emplace(piece.sequence_id());
      if (first != piece.has_options())
        return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                            "options belong to the first request");
      if (first) held->second = UnfinishedTail(piece.options().prompt_tail_token_ids());
      DecodeBytes(piece, held->second, *response.add_pieces());
      if (piece.finish()) held_by_id.erase(held);
    }
    if (!stream->Write(response)) break;
  }
  return grpc::Status::OK;
}

grpc::Status FakeTokenizer::RenderChat(grpc::ServerContext*,
                                       const tokenizer::v1::RenderChatRequest* request,
                                       tokenizer::v1::RenderChatResponse* response) {
  for (const common::v1::ChatMessage& message : request->chat().messages()) {
    absl::StrAppend(response->mutable_text(), message.role(), ":", message.content(), "|");
  }
  AddBytes(response->text(), *response->mutable_token_ids());
  return grpc::Status::OK;
}

grpc::Status FakeTokenizer::GetInfo(grpc::ServerContext*, const tokenizer::v1::GetInfoRequest*,
                                    tokenizer::v1::GetInfoResponse* response) {
  *response->mutable_server() = info;
  response->set_vocab_size(kFakeVocabSize);
  response->set_has_chat_template(true);
  return grpc::Status::OK;
}

grpc::Status FakeEmbedding::Embed(grpc::ServerContext*, const embedding::v1::EmbedRequest* request,
                                  embedding::v1::EmbedResponse* response) {
  ++embed_count;
  if (request->token_ids_size() > kFakeMaxRows)
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "too many rows");
  const std::vector<float> rows(request->token_ids().begin(), request->token_ids().end());
  common::v1::Tensor& tensor = *response->mutable_hidden_states();
  tensor.set_data_type(common::v1::DATA_TYPE_F32);
  tensor.add_shape(static_cast<int64_t>(rows.size()));
  tensor.add_shape(1);
  tensor.set_data(rows.data(), rows.size() * sizeof(float));
  return grpc::Status::OK;
}

grpc::Status FakeEmbedding::GetInfo(grpc::ServerContext*, const embedding::v1::GetInfoRequest*,
                                    embedding::v1::GetInfoResponse* response) {
  *response->mutable_server() = info;
  response->set_hidden_size(1);
  response->set_max_rows(kFakeMaxRows);
  return grpc::Status::OK;
}

GenerateStart FakeTransformer::last_start() const {
  const absl::MutexLock lock(&mutex_);
  return last_start_;
}

grpc::Status FakeTransformer::Generate(grpc::ServerContext* context, Stream* stream) {
  ++generate_count;
  GenerateRequest request;
  if (!stream->Read(&request) || !request.has_start())
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "start comes first");
  {
    const absl::MutexLock lock(&mutex_);
    last_start_ = request.start();
  }
  return script ? script(*context, request.start(), *stream)
                : RunDefaultScript(request.start(), *stream);
}

grpc::Status FakeTransformer::RunDefaultScript(const GenerateStart& start, Stream& stream) const {
  if (!PullRows(start, 0, start.prompt_token_ids_size(), stream))
    return grpc::Status(grpc::StatusCode::INTERNAL, "wrong rows");
  SendText(answer, tokens_per_message, stream, start.has_logprobs());
  GenerateResponse last;
  last.mutable_tokens()->add_token_ids(kFakeEos);
  stream.Write(last);
  SendFinished(common::v1::FINISH_REASON_EOS, stream);
  return grpc::Status::OK;
}

grpc::Status FakeTransformer::Encode(
    grpc::ServerContext*,
    grpc::ServerReaderWriter<transformer::v1::EncodeResponse, transformer::v1::EncodeRequest>*
        stream) {
  transformer::v1::EncodeRequest request;
  stream->Read(&request);
  const transformer::v1::EncodeStart start = request.start();
  const int count = start.token_ids_size();
  transformer::v1::EncodeResponse response;
  response.mutable_need()->set_count(count);
  stream->Write(response);
  for (int64_t position = 0; position < count;) {
    if (!stream->Read(&request)) return grpc::Status::OK;
    if (!AreRowsOf(request.hidden_states().rows(), start.token_ids(), position))
      return grpc::Status(grpc::StatusCode::INTERNAL, "wrong rows");
    position += request.hidden_states().rows().shape(0);
  }
  const int32_t last = start.token_ids(count - 1);
  if (last == kFakeEos) return grpc::Status(grpc::StatusCode::INTERNAL, "the end");
  std::vector<float> values;
  const bool is_labels = !labels.empty() && start.pooling() == common::v1::POOLING_UNSPECIFIED;
  if (is_labels) {
    for (size_t i = 0; i < labels.size(); ++i)
      values.push_back(static_cast<float>(last) - static_cast<float>(i));
  } else {
    for (const int32_t value : {start.token_ids(0), last, count})
      values.push_back(static_cast<float>(value));
  }
  response.mutable_finished()->set_is_labels(is_labels);
  response.mutable_finished()->mutable_usage()->set_prompt_token_count(count);
  common::v1::Tensor& output = *response.mutable_finished()->mutable_output();
  output.set_data_type(common::v1::DATA_TYPE_F32);
  output.add_shape(static_cast<int64_t>(values.size()));
  output.set_data(values.data(), values.size() * sizeof(float));
  stream->Write(response);
  return grpc::Status::OK;
}

grpc::Status FakeTransformer::Score(
    grpc::ServerContext*,
    grpc::ServerReaderWriter<transformer::v1::ScoreResponse, transformer::v1::ScoreRequest>*
        stream) {
  transformer::v1::ScoreRequest request;
  stream->Read(&request);
  const transformer::v1::ScoreStart start = request.start();
  transformer::v1::ScoreResponse response;
  response.mutable_need()->set_count(start.token_ids_size());
  stream->Write(response);
  for (int64_t position = 0; position < start.token_ids_size();) {
    if (!stream->Read(&request)) return grpc::Status::OK;
    if (!AreRowsOf(request.hidden_states().rows(), start.token_ids(), position))
      return grpc::Status(grpc::StatusCode::INTERNAL, "wrong rows");
    position += request.hidden_states().rows().shape(0);
  }
  double total = 0;
  for (int64_t i = start.first_scored_index(); i < start.token_ids_size(); ++i, total -= 1) {
    transformer::v1::ScoreResponse chunk;
    chunk.mutable_chunk()->set_first_index(i);
    common::v1::TokenLogprob& chosen = *chunk.mutable_chunk()->add_logprobs()->mutable_chosen();
    chosen.set_token_id(start.token_ids(static_cast<int>(i)));
    chosen.set_logprob(-1);
    stream->Write(chunk);
  }
  transformer::v1::ScoreResponse last;
  last.mutable_finished()->set_total_logprob(total);
  stream->Write(last);
  return grpc::Status::OK;
}

grpc::Status FakeTransformer::GetInfo(grpc::ServerContext*, const transformer::v1::GetInfoRequest*,
                                      transformer::v1::GetInfoResponse* response) {
  *response->mutable_server() = info;
  response->mutable_shape()->set_vocab_size(kFakeVocabSize);
  response->mutable_shape()->set_hidden_size(kFakeHiddenSize);
  response->set_head(labels.empty() ? common::v1::HEAD_KIND_LM : common::v1::HEAD_KIND_LABELS);
  response->mutable_labels()->Add(labels.begin(), labels.end());
  response->set_problem_type(problem_type);
  response->set_default_pooling(common::v1::POOLING_LAST);
  response->set_max_sequence_length(kFakeMaxSequenceLength);
  response->add_eos_token_ids(kFakeEos);
  return grpc::Status::OK;
}

bool FakeTransformer::PullRows(const GenerateStart& start, int64_t first, int64_t count,
                               Stream& stream) {
  GenerateResponse response;
  response.mutable_need()->set_first_position(first);
  response.mutable_need()->set_count(count);
  stream.Write(response);
  for (int64_t position = first; position < first + count;) {
    GenerateRequest request;
    if (!stream.Read(&request) || request.hidden_states().first_position() != position)
      return false;
    if (!AreRowsOf(request.hidden_states().rows(), start.prompt_token_ids(), position))
      return false;
    position += request.hidden_states().rows().shape(0);
  }
  return true;
}

void FakeTransformer::SendText(const std::string& text, int64_t tokens_per_message, Stream& stream,
                               bool with_logprobs) {
  for (size_t begin = 0; begin < text.size(); begin += tokens_per_message) {
    GenerateResponse response;
    transformer::v1::Tokens& tokens = *response.mutable_tokens();
    AddBytes(text.substr(begin, tokens_per_message), *tokens.mutable_token_ids());
    tokens.set_first_index(static_cast<int64_t>(begin));
    for (int i = 0; with_logprobs && i < tokens.token_ids_size(); ++i) {
      common::v1::PositionLogprobs& position = *tokens.add_logprobs();
      position.mutable_chosen()->set_token_id(tokens.token_ids(i));
      position.mutable_chosen()->set_logprob(-0.5f);
      position.add_top()->set_token_id('z');
    }
    stream.Write(response);
  }
}

void FakeTransformer::SendFinished(common::v1::FinishReason reason, Stream& stream) {
  GenerateResponse response;
  response.mutable_finished()->set_finish_reason(reason);
  response.mutable_finished()->mutable_latency()->mutable_queue()->set_nanos(1000);
  stream.Write(response);
}

void FakeTransformer::WaitForCancel(Stream& stream) {
  GenerateRequest request;
  while (stream.Read(&request)) {
  }
}

}  // namespace phyllo
