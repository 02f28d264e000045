// Writes a model folder with random weights for a config.json:
//   ./bazelw run //tools/make_random_checkpoint -- --config=/path/config.json --out=/path/model
//   --tokenizer=/path/tokenizer.json

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "model/tensor/dtype.h"
#include "tools/make_random_checkpoint/random_checkpoint.h"

ABSL_FLAG(std::string, config, "", "config.json of a supported family");
ABSL_FLAG(std::string, out, "", "folder to write; must hold no checkpoint");
ABSL_FLAG(std::string, tokenizer, "", "tokenizer.json to copy into the folder");
ABSL_FLAG(std::string, dtype, "bf16", "f32, f16 or bf16");
ABSL_FLAG(uint64_t, seed, 1, "seed of the weights");
ABSL_FLAG(int64_t, max_shard_bytes, 5'000'000'000,
          "split a checkpoint that is larger, 1 byte or more");

namespace phyllo {
namespace {

// `bazel run` starts the program elsewhere and says where the user was.
std::string FromUsersFolder(const std::string& path) {
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  return path.empty() || path.front() == '/' || folder == nullptr ? path
                                                                  : absl::StrCat(folder, "/", path);
}

int Main() {
  RandomCheckpointOptions options;
  options.config_path = FromUsersFolder(absl::GetFlag(FLAGS_config));
  options.output_directory = FromUsersFolder(absl::GetFlag(FLAGS_out));
  options.tokenizer_path = FromUsersFolder(absl::GetFlag(FLAGS_tokenizer));
  options.seed = absl::GetFlag(FLAGS_seed);
  options.max_shard_bytes = absl::GetFlag(FLAGS_max_shard_bytes);
  const std::string dtype = absl::GetFlag(FLAGS_dtype);
  const bool known = dtype == "f32" || dtype == "f16" || dtype == "bf16";
  if (options.config_path.empty() || options.output_directory.empty() || !known) {
    std::fprintf(stderr,
                 "make_random_checkpoint: needs --config, --out and a --dtype of f32, f16 or bf16; "
                 "see --help\n");
    return 2;
  }
  options.dtype = dtype == "f32" ? DType::kF32 : dtype == "f16" ? DType::kF16 : DType::kBf16;
  const absl::StatusOr<RandomCheckpointResult> result = WriteRandomCheckpoint(options);
  if (!result.ok()) {
    std::fprintf(stderr, "make_random_checkpoint: %s\n", result.status().ToString().c_str());
    return 1;
  }
  std::printf("%s: %lld parameters, %lld bytes, %lld file(s)\n", options.output_directory.c_str(),
              static_cast<long long>(result->parameter_count),
              static_cast<long long>(result->weight_bytes),
              static_cast<long long>(result->shard_count));
  return 0;
}

}  // namespace
}  // namespace phyllo

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Writes a model folder with random weights: --config=config.json --out=folder");
  absl::ParseCommandLine(argc, argv);
  return phyllo::Main();
}
