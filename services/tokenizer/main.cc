// The tokenizer service's binary.
#include <memory>
#include <string>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/tokenizer/chat_template.h"
#include "model/tokenizer/tokenizer.h"
#include "services/common/server_identity.h"
#include "services/common/service_flags.h"
#include "services/common/service_process.h"
#include "services/tokenizer/tokenizer_service.h"

ABSL_FLAG(
    std::string, model, "",
    "Model folder: tokenizer.json, else tokenizer.model, else vocab.json and merges.txt, else a "
    ".tiktoken file; and tokenizer_config.json, special_tokens_map.json, added_tokens.json, "
    "chat_template.jinja, config.json if there are; or GGUF file. Required");
ABSL_FLAG(std::string, model_name, "", "Name of the model in GetInfo. Empty: the folder's name");
ABSL_FLAG(int64_t, max_text_bytes, int64_t{8} << 20,
          "Longest text that Encode or RenderChat takes, in bytes. Range [1, 67108864]");

namespace phyllo {
namespace {

constexpr char kUsage[] =
    R"(Phyllo's tokenizer service: text to token ids and back, and chat templates, exactly as a model folder's tokenizer files say.

  tokenizer --model=/models/qwen3 --listen=127.0.0.1:50051
  tokenizer --model=/models/qwen3 --listen=unix:/run/phyllo/tokenizer.sock --metrics_address=127.0.0.1:9101
  tokenizer --model=/models/qwen3 --listen=127.0.0.1:0 --port_file=/tmp/tokenizer.port

It holds no weights and little memory; run as many replicas as text needs. The interface is proto/phyllo/tokenizer/v1/tokenizer.proto.
SIGTERM drains, a second one stops at once.)";

absl::StatusOr<std::unique_ptr<ChatTemplate>> LoadChatTemplate(const Tokenizer& tokenizer) {
  if (tokenizer.config().chat_template.empty()) return std::unique_ptr<ChatTemplate>();
  return ChatTemplate::Create(tokenizer);
}

int Main(int argc, char** argv) {
  ServiceProcess process(ParseServiceFlags("tokenizer", "127.0.0.1:50051", kUsage, argc, argv));
  const std::string folder = absl::GetFlag(FLAGS_model);
  if (folder.empty())
    return process.Fail(absl::InvalidArgumentError("--model is required; try --help"));
  TokenizerServiceOptions options;
  options.max_text_bytes = absl::GetFlag(FLAGS_max_text_bytes);
  options.max_streams = process.server_options().max_handler_threads;
  const absl::Status range =
      CheckFlagRange("max_text_bytes", options.max_text_bytes, 1, int64_t{64} << 20);
  if (!range.ok()) return process.Fail(range);

  const absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::Load(folder);
  if (!tokenizer.ok()) return process.Fail(tokenizer.status());
  const absl::StatusOr<std::unique_ptr<ChatTemplate>> chat_template = LoadChatTemplate(**tokenizer);
  if (!chat_template.ok()) return process.Fail(chat_template.status());
  // One use of every table before the first request comes.
  const absl::StatusOr<Encoding> warm_up = (*tokenizer)->Encode("Warm-up: 123 äöü.\n", {});
  if (!warm_up.ok()) return process.Fail(warm_up.status());

  absl::StatusOr<common::v1::ModelFingerprint> fingerprint = FingerprintFolder(folder);
  if (!fingerprint.ok()) return process.Fail(fingerprint.status());
  fingerprint->set_tokenizer_sha256(DigestBytes((*tokenizer)->digest()));
  if (*chat_template != nullptr)
    fingerprint->set_chat_template_sha256(DigestBytes((*tokenizer)->config().chat_template_digest));
  common::v1::ServerInfo info;
  info.set_model(ModelName(absl::GetFlag(FLAGS_model_name), folder));
  *info.mutable_fingerprint() = *std::move(fingerprint);
  const ServerIdentity identity(std::move(info));

  TokenizerServiceImpl service(**tokenizer, chat_template->get(), identity, options);
  return process.Run({{&service, tokenizer::v1::TokenizerService::service_full_name()}});
}

}  // namespace
}  // namespace phyllo

int main(int argc, char** argv) { return phyllo::Main(argc, argv); }
