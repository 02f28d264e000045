// Access to the metadata of a GGUF file by the keys of its architecture.
#ifndef PHYLLO_MODEL_GGUF_CONFIG_TRANSLATOR_H_
#define PHYLLO_MODEL_GGUF_CONFIG_TRANSLATOR_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/checkpoint/checkpoint.h"
#include "model/config/reader/config_reader.h"

namespace phyllo {

// Reads keys "<architecture>.<name>" and collects a config.json. The first error stays in the
// reader's status, after which every read returns a default. Borrows the checkpoint and the reader.
// Thread-compatible.
class ConfigTranslator {
 public:
  // `reader` has the metadata as a JSON object.
  ConfigTranslator(const Checkpoint& checkpoint, ConfigReader& reader);

  nlohmann::json& config() { return config_; }

  // The full key of a name.
  std::string Key(absl::string_view name) const { return absl::StrCat(architecture_, ".", name); }

  // Keeps UNIMPLEMENTED.
  void Fail(absl::string_view message) { reader_.FailUnsupported(message); }

  // nullopt if absent.
  std::optional<double> Number(absl::string_view name);
  std::optional<int64_t> Integer(absl::string_view name);
  std::optional<bool> Bool(absl::string_view name);

  // Empty if absent.
  std::string Text(absl::string_view name);

  // An integer that some files give per layer; UNIMPLEMENTED if it is not the same in all.
  std::optional<int64_t> UniformInteger(absl::string_view name);

  // The same; INVALID_ARGUMENT if it is absent.
  int64_t Required(absl::string_view name);

  bool HasTensor(absl::string_view name) const { return checkpoint_.Find(name) != nullptr; }

  // The elements of a vector of floats; empty if there is none of that name.
  std::vector<float> Floats(absl::string_view name) const;

  // Rows of the embedding, which are the vocabulary.
  int64_t VocabSize();

 private:
  const Checkpoint& checkpoint_;
  ConfigReader& reader_;
  const std::string architecture_;
  nlohmann::json config_ = nlohmann::json::object();
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_GGUF_CONFIG_TRANSLATOR_H_
