#include "tests/golden/golden_model.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "model/base/status_macros.h"
#include "model/checkpoint/tensor_view.h"
#include "model/tensor/dtype.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

// The checkpoint reader takes folders, and the golden tensors lie beside the model's: give them a
// folder of their own.
absl::StatusOr<std::unique_ptr<Checkpoint>> OpenTensors(const std::filesystem::path& file) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "golden_tensors" / file.parent_path().filename();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::filesystem::remove(folder / "model.safetensors", error);
  std::filesystem::create_symlink(std::filesystem::absolute(file), folder / "model.safetensors",
                                  error);
  if (error)
    return absl::InternalError(absl::StrCat("cannot link ", file.string(), ": ", error.message()));
  return Checkpoint::Open(folder.string());
}

template <typename T>
std::vector<T> Elements(const TensorView& tensor) {
  std::vector<T> result(tensor.num_elements());
  if (!result.empty()) std::memcpy(result.data(), tensor.data.data(), tensor.data.size());
  return result;
}

}  // namespace

absl::StatusOr<std::unique_ptr<GoldenModel>> GoldenModel::Open(const std::string& directory) {
  auto model = std::unique_ptr<GoldenModel>(new GoldenModel());
  model->directory_ = directory;
  std::ifstream file(directory + "/golden.json");
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return absl::InvalidArgumentError(absl::StrCat("no readable golden.json in ", directory));
  model->logits_std_ = json.value("logits_std", 0.0);
  model->tolerance_rel_ = json.value("tolerance_rel", 0.0);
  model->hidden_noise_rel_ = json.value("hidden_noise_rel", 0.0);
  model->bf16_compute_rel_ = json.value("bf16_compute_rel", 0.0);
  if (!(model->logits_std_ > 0 && model->tolerance_rel_ > 0 && model->hidden_noise_rel_ > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("golden.json of ", directory, " lacks a number"));
  }
  PHYLLO_ASSIGN_OR_RETURN(model->tensors_,
                          OpenTensors(std::filesystem::path(directory) / "golden.safetensors"));
  return model;
}

std::vector<float> GoldenModel::Floats(absl::string_view name) const {
  const TensorView* const tensor = tensors_->Find(name);
  if (tensor == nullptr || tensor->dtype != DType::kF32) return {};
  return Elements<float>(*tensor);
}

std::vector<int32_t> GoldenModel::Ids(absl::string_view name) const {
  const TensorView* const tensor = tensors_->Find(name);
  if (tensor == nullptr || tensor->dtype != DType::kI64) return {};
  const std::vector<int64_t> ids = Elements<int64_t>(*tensor);
  return std::vector<int32_t>(ids.begin(), ids.end());
}

}  // namespace phyllo
