#include "model/gguf/config_translator.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/tensor_view.h"
#include "model/config/reader/config_reader.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 40;
constexpr double kMaxNumber = 1e30;

}  // namespace

ConfigTranslator::ConfigTranslator(const Checkpoint& checkpoint, ConfigReader& reader)
    : checkpoint_(checkpoint),
      reader_(reader),
      architecture_(reader.OptionalString("general.architecture").value_or("")) {}

std::optional<double> ConfigTranslator::Number(absl::string_view name) {
  return reader_.OptionalNumber(Key(name), -kMaxNumber, kMaxNumber);
}

std::optional<int64_t> ConfigTranslator::Integer(absl::string_view name) {
  return reader_.OptionalInteger(Key(name), 0, kMaxSize);
}

std::optional<bool> ConfigTranslator::Bool(absl::string_view name) {
  return reader_.OptionalBool(Key(name));
}

std::string ConfigTranslator::Text(absl::string_view name) {
  return reader_.OptionalString(Key(name)).value_or("");
}

std::optional<int64_t> ConfigTranslator::UniformInteger(absl::string_view name) {
  const std::vector<int64_t> values = reader_.IntegerList(Key(name), 0, kMaxSize);
  for (const int64_t value : values) {
    if (value != values.front())
      Fail(absl::StrCat(Key(name), " differs between layers, which is not supported"));
  }
  return values.empty() ? std::nullopt : std::optional<int64_t>(values.front());
}

int64_t ConfigTranslator::Required(absl::string_view name) {
  const std::optional<int64_t> value = UniformInteger(name);
  if (!value.has_value()) reader_.FailInvalid(absl::StrCat(Key(name), " is missing"));
  return value.value_or(1);
}

std::vector<float> ConfigTranslator::Floats(absl::string_view name) const {
  const TensorView* const tensor = checkpoint_.Find(name);
  if (tensor == nullptr || !IsWeightDType(tensor->dtype) || tensor->shape.size() != 1) return {};
  std::vector<float> values(tensor->num_elements());
  ConvertToFloat(tensor->dtype, tensor->data.data(), absl::MakeSpan(values));
  return values;
}

int64_t ConfigTranslator::VocabSize() {
  const TensorView* const embedding = checkpoint_.Find("token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2) {
    reader_.FailInvalid("tensor \"token_embd.weight\" is missing or no matrix");
    return 1;
  }
  return embedding->shape[0];
}

}  // namespace phyllo
