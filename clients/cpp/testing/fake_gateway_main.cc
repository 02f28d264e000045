// A gateway for the tests of clients in other languages: says "listen ADDRESS" and serves until it
// is killed. It answers with the words of the prompt (text, the last turn of a chat, or token ids),
// one delta a word; the prompt "fail" is INVALID_ARGUMENT and "forever" never ends. Token ids are
// the bytes of the text; the vector of a text is its number of bytes and its first byte.
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "clients/cpp/testing/fake_gateway.h"

namespace phyllo {
namespace {

std::string PromptText(const gateway::v1::GenerateRequest& request) {
  if (request.has_chat() && request.chat().messages_size() > 0)
    return request.chat().messages(request.chat().messages_size() - 1).content();
  return request.has_token_ids() ? absl::StrJoin(request.token_ids().ids(), " ") : request.text();
}

grpc::Status AnswerWithWords(grpc::ServerContext& context,
                             const gateway::v1::GenerateRequest& request,
                             FakeGateway::GenerateWriter& writer) {
  const std::string prompt = PromptText(request);
  if (prompt == "fail") return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "told to fail");
  while (prompt == "forever" && !context.IsCancelled()) writer.Write(DeltaMessage("x"));
  const std::vector<std::string> words = absl::StrSplit(prompt, ' ');
  for (const std::string& word : words) writer.Write(DeltaMessage(absl::StrCat(word, " ")));
  gateway::v1::GenerateResponse last = FinishedMessage();
  last.mutable_finished()->mutable_usage()->set_generated_token_count(
      static_cast<int64_t>(words.size()));
  writer.Write(last);
  return grpc::Status::OK;
}

void Serve() {
  FakeGateway gateway;
  gateway.on_generate = AnswerWithWords;
  gateway.on_tokenize = [](const gateway::v1::TokenizeRequest& request,
                           gateway::v1::TokenizeResponse& response) {
    for (const char byte : request.text()) response.add_token_ids(static_cast<unsigned char>(byte));
    return grpc::Status::OK;
  };
  gateway.on_detokenize = [](const gateway::v1::DetokenizeRequest& request,
                             gateway::v1::DetokenizeResponse& response) {
    for (const int32_t id : request.token_ids())
      response.mutable_text()->push_back(static_cast<char>(id));
    return grpc::Status::OK;
  };
  gateway.on_embed = [](const gateway::v1::EmbedRequest& request,
                        gateway::v1::EmbedResponse& response) {
    for (const std::string& text : request.texts()) {
      gateway::v1::EmbeddingVector& vector = *response.add_vectors();
      vector.add_values(static_cast<float>(text.size()));
      vector.add_values(text.empty() ? 0.0f : static_cast<float>(text[0]));
    }
    return grpc::Status::OK;
  };
  gateway.on_get_model = [](const gateway::v1::GetModelRequest&,
                            gateway::v1::GetModelResponse& response) {
    response.set_model("fake");
    return grpc::Status::OK;
  };
  std::cout << "listen " << gateway.address() << std::endl;
  while (true) pause();
}

}  // namespace
}  // namespace phyllo

int main() { phyllo::Serve(); }
