// Typed reading of a JSON object whose keys the caller names one by one.
//
//   absl::Status status;
//   ConfigReader reader(json, "config.json", &status);
//   decoder.hidden_size = ReadInteger(reader, "hidden_size", 1, 1 << 20);
//   if (!status.ok()) return status;
#ifndef PHYLLO_MODEL_CONFIG_READER_CONFIG_READER_H_
#define PHYLLO_MODEL_CONFIG_READER_CONFIG_READER_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace phyllo {

// The first error is kept in the shared status and names the key, the value and the limit; after it
// every read returns a default, so that the caller checks once. null counts as absent. Borrows the
// JSON and the status. Thread-compatible.
class ConfigReader {
 public:
  // `where` names the object in messages. Successive readers of one file share `status`.
  ConfigReader(const nlohmann::json& object, absl::string_view where, absl::Status* status);

  bool Has(absl::string_view key) const;

  // Whether any method of this reader was asked for the key.
  bool WasRead(absl::string_view key) const;

  // nullopt if absent.
  std::optional<int64_t> OptionalInteger(absl::string_view key, int64_t min, int64_t max);
  std::optional<double> OptionalNumber(absl::string_view key, double min, double max);
  std::optional<bool> OptionalBool(absl::string_view key);
  std::optional<std::string> OptionalString(absl::string_view key);
  std::optional<ConfigReader> OptionalObject(absl::string_view key);

  // An integer or a list of integers, each in [min, max]; empty if absent.
  std::vector<int64_t> IntegerList(absl::string_view key, int64_t min, int64_t max);

  // A list of strings; empty if absent.
  std::vector<std::string> StringList(absl::string_view key);

  // Keeps `INVALID_ARGUMENT: <where>: <message>`, or UNIMPLEMENTED, if it is the first error.
  void FailInvalid(absl::string_view message);
  void FailUnsupported(absl::string_view message);

  const nlohmann::json& json() const { return *object_; }

 private:
  // The value of `key`, or null if it is absent, JSON null or an error is already kept.
  const nlohmann::json* Find(absl::string_view key) const;
  int64_t CheckedInteger(absl::string_view key, const nlohmann::json& value, int64_t min,
                         int64_t max);
  void FailType(absl::string_view key, absl::string_view wanted, const nlohmann::json& value);

  const nlohmann::json* object_;
  std::string where_;
  absl::Status* status_;
  mutable std::set<std::string, std::less<>> read_;  // the keys that were asked for
};

// A required integer in [min, max].
int64_t ReadInteger(ConfigReader& reader, absl::string_view key, int64_t min, int64_t max);

// The value, or `absent`.
double ReadNumber(ConfigReader& reader, absl::string_view key, double min, double max,
                  double absent);
bool ReadBool(ConfigReader& reader, absl::string_view key, bool absent);

// Whether the key is there with the value null, which is not the same as absent where the
// reference's config class has a default.
bool IsNull(const ConfigReader& reader, absl::string_view key);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_READER_CONFIG_READER_H_
