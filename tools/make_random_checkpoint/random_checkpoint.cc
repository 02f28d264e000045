#include "tools/make_random_checkpoint/random_checkpoint.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/base/status_macros.h"
#include "model/checkpoint/safetensors.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"
#include "model/config/weight_map.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

constexpr float kStandardDeviation = 0.02f;
constexpr int64_t kPieceElements = 1 << 18;

enum class Fill { kNormal, kNorm, kZero };

// A tensor of the file, and what goes into it.
struct PlannedTensor {
  TensorDeclaration declaration;
  Fill fill = Fill::kNormal;
  float norm_weight = 1.0f;  // of kNorm

  int64_t Elements() const {
    int64_t product = 1;
    for (const int64_t size : declaration.shape) product *= size;
    return product;
  }
  int64_t Bytes() const { return Elements() * ByteSize(declaration.dtype); }
};

Fill FillOf(WeightRole role) {
  switch (role) {
    case WeightRole::kInputNorm:
    case WeightRole::kQNorm:
    case WeightRole::kKNorm:
    case WeightRole::kAttentionOutputNorm:
    case WeightRole::kFeedForwardNorm:
    case WeightRole::kFeedForwardOutputNorm:
    case WeightRole::kFinalNorm:
      return Fill::kNorm;
    case WeightRole::kInputNormBias:
    case WeightRole::kQProjBias:
    case WeightRole::kKProjBias:
    case WeightRole::kVProjBias:
    case WeightRole::kOProjBias:
    case WeightRole::kFeedForwardNormBias:
    case WeightRole::kGateProjBias:
    case WeightRole::kUpProjBias:
    case WeightRole::kDownProjBias:
    case WeightRole::kFinalNormBias:
    case WeightRole::kLmHeadBias:
      return Fill::kZero;
    default:
      return Fill::kNormal;
  }
}

// Every tensor of the map once; slices of one tensor share it.
std::vector<PlannedTensor> Plan(const DecoderDescription& description, DType dtype) {
  const WeightMap map = BuildWeightMap(description);
  const float norm_weight = 1.0f - description.norm.weight_offset;  // norms that change nothing
  std::vector<PlannedTensor> plan;
  std::set<std::string> names;
  for (const WeightSpec& spec : map.specs) {
    if (!names.insert(spec.names.front()).second) continue;
    plan.push_back({{spec.names.front(), dtype, spec.shape}, FillOf(spec.role), norm_weight});
  }
  return plan;
}

// Cuts the plan, in order, into files of at most `max_shard_bytes`, but of at least one tensor.
std::vector<std::vector<PlannedTensor>> Split(std::vector<PlannedTensor> plan,
                                              int64_t max_shard_bytes) {
  std::vector<std::vector<PlannedTensor>> shards;
  int64_t bytes = 0;
  for (PlannedTensor& tensor : plan) {
    if (shards.empty() || bytes + tensor.Bytes() > max_shard_bytes) {
      shards.emplace_back();
      bytes = 0;
    }
    bytes += tensor.Bytes();
    shards.back().push_back(std::move(tensor));
  }
  return shards;
}

// splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // Two independent standard normal numbers (Box and Muller, 1958).
  std::pair<float, float> NextNormals() {
    const uint64_t bits = Next();
    const float u = (static_cast<float>(bits >> 40) + 1.0f) * 0x1p-24f;            // (0, 1]
    const float v = static_cast<float>(bits & 0xffffffu) * 0x1p-24f * 6.2831853f;  // [0, 2 pi)
    const float radius = std::sqrt(-2.0f * std::log(u));
    return {radius * std::cos(v), radius * std::sin(v)};
  }

 private:
  uint64_t state_;
};

void FillPiece(const PlannedTensor& tensor, Random& random, absl::Span<float> out) {
  if (tensor.fill != Fill::kNormal) {
    std::fill(out.begin(), out.end(), tensor.fill == Fill::kNorm ? tensor.norm_weight : 0.0f);
    return;
  }
  for (size_t i = 0; i < out.size(); i += 2) {
    const auto [a, b] = random.NextNormals();
    out[i] = kStandardDeviation * a;
    if (i + 1 < out.size()) out[i + 1] = kStandardDeviation * b;
  }
}

// FNV-1a, 64 bits: the same everywhere, unlike std::hash.
uint64_t Hash(absl::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return hash;
}

absl::Status WriteShard(const std::string& path, absl::Span<const PlannedTensor> tensors,
                        uint64_t seed) {
  std::vector<TensorDeclaration> declarations;
  for (const PlannedTensor& tensor : tensors) declarations.push_back(tensor.declaration);
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream << SafetensorsHeader(declarations);
  std::vector<float> values(kPieceElements);
  std::vector<char> bytes;
  for (const PlannedTensor& tensor : tensors) {
    // A generator per name: the bytes of a tensor do not depend on how the file is cut.
    Random random(seed ^ Hash(tensor.declaration.name));
    for (int64_t done = 0, all = tensor.Elements(); done < all; done += kPieceElements) {
      const absl::Span<float> piece =
          absl::MakeSpan(values).first(static_cast<size_t>(std::min(kPieceElements, all - done)));
      FillPiece(tensor, random, piece);
      bytes.resize(piece.size() * static_cast<size_t>(ByteSize(tensor.declaration.dtype)));
      ConvertFromFloat(piece, tensor.declaration.dtype, bytes.data());
      stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
  }
  stream.close();
  if (!stream) return absl::UnknownError(absl::StrCat("cannot write ", path));
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

absl::Status WriteText(const std::string& path, absl::string_view text) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream << text;
  stream.close();
  if (!stream) return absl::UnknownError(absl::StrCat("cannot write ", path));
  return absl::OkStatus();
}

// The config with the dtype that is written. REQUIRES: `text` parses as a model config.
std::string SetDType(const std::string& text, DType dtype) {
  nlohmann::ordered_json json =
      nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  const std::string name = dtype == DType::kF32   ? "float32"
                           : dtype == DType::kF16 ? "float16"
                                                  : "bfloat16";
  const bool v4 = json.contains("torch_dtype");
  if (v4) json["torch_dtype"] = name;
  if (!v4 || json.contains("dtype")) json["dtype"] = name;
  return json.dump(2) + "\n";
}

absl::Status MakeFolder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", folder));
  for (const char* name : {"/model.safetensors", "/model.safetensors.index.json"}) {
    struct stat info;
    if (stat((folder + name).c_str(), &info) == 0)
      return absl::AlreadyExistsError(absl::StrCat(folder, name, " is there already"));
  }
  return absl::OkStatus();
}

std::string ShardName(size_t index, size_t count) {
  return count == 1 ? "model.safetensors"
                    : absl::StrFormat("model-%05d-of-%05d.safetensors", index + 1, count);
}

}  // namespace

absl::StatusOr<RandomCheckpointResult> WriteRandomCheckpoint(
    const RandomCheckpointOptions& options) {
  if (!IsPlainWeightDType(options.dtype))
    return absl::InvalidArgumentError("dtype must be F32, F16 or BF16");
  if (options.max_shard_bytes <= 0)
    return absl::InvalidArgumentError("max_shard_bytes must be over 0");
  PHYLLO_ASSIGN_OR_RETURN(const std::string config_text, ReadText(options.config_path));
  PHYLLO_ASSIGN_OR_RETURN(const ModelConfig config, ParseModelConfig(config_text));
  PHYLLO_ASSIGN_OR_RETURN(const DecoderDescription description, DescribeDecoder(config));
  PHYLLO_RETURN_IF_ERROR(MakeFolder(options.output_directory));
  const std::vector<std::vector<PlannedTensor>> shards =
      Split(Plan(description, options.dtype), options.max_shard_bytes);

  RandomCheckpointResult result;
  result.shard_count = static_cast<int64_t>(shards.size());
  nlohmann::json weight_map = nlohmann::json::object();
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name = ShardName(i, shards.size());
    PHYLLO_RETURN_IF_ERROR(
        WriteShard(absl::StrCat(options.output_directory, "/", name), shards[i], options.seed));
    for (const PlannedTensor& tensor : shards[i]) {
      weight_map[tensor.declaration.name] = name;
      result.parameter_count += tensor.Elements();
      result.weight_bytes += tensor.Bytes();
    }
  }
  if (shards.size() > 1) {
    const nlohmann::json index = {{"metadata", {{"total_size", result.weight_bytes}}},
                                  {"weight_map", weight_map}};
    PHYLLO_RETURN_IF_ERROR(
        WriteText(absl::StrCat(options.output_directory, "/model.safetensors.index.json"),
                  index.dump(2) + "\n"));
  }
  PHYLLO_RETURN_IF_ERROR(WriteText(absl::StrCat(options.output_directory, "/config.json"),
                                   SetDType(config_text, options.dtype)));
  if (!options.tokenizer_path.empty()) {
    PHYLLO_ASSIGN_OR_RETURN(const std::string tokenizer, ReadText(options.tokenizer_path));
    PHYLLO_RETURN_IF_ERROR(
        WriteText(absl::StrCat(options.output_directory, "/tokenizer.json"), tokenizer));
  }
  return result;
}

}  // namespace phyllo
