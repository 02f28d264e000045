// The options of a RoPE, gathered from the places where the two key styles of config.json put them.
#ifndef PHYLLO_MODEL_CONFIG_READER_ROPE_OPTIONS_H_
#define PHYLLO_MODEL_CONFIG_READER_ROPE_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/config/reader/config_reader.h"

namespace phyllo {

// Reads `rope_parameters` (transformers 5), `rope_scaling` (transformers 4) and, for the options
// that may stand there, the outermost object. An option may be in any of the places, but must have
// one value. Errors go to the reader's status. Borrows the reader. Thread-compatible.
class RopeOptions {
 public:
  // `layer_type` is the member of a rope_parameters that holds one dictionary per type of layer;
  // empty = it is one dictionary. Without `with_rope_scaling` that dictionary is left out.
  RopeOptions(ConfigReader& config, absl::string_view layer_type, bool with_rope_scaling);

  // UNIMPLEMENTED for a member of the dictionaries that no type knows.
  void RejectUnknownKeys();

  // The type's name, from `rope_type` or the older `type`; "" if neither is there.
  std::string Type();

  // From the dictionaries, and from `outermost_key` of the outermost object unless that is empty.
  std::optional<double> Number(absl::string_view key, double min, double max,
                               absl::string_view outermost_key = "");
  double RequiredNumber(absl::string_view key, double min, double max);

  // A whole number of positions, also from the outermost object.
  std::optional<int64_t> Positions(absl::string_view key);

  // From the dictionaries.
  bool Bool(absl::string_view key, bool absent);
  std::vector<double> NumberList(absl::string_view key, double min, double max);

 private:
  void Contradiction(absl::string_view key, absl::string_view a, absl::string_view b);

  ConfigReader& config_;
  std::vector<ConfigReader> dictionaries_;  // in order of reading
};

// The largest values that any RoPE option may have.
inline constexpr double kMaxRopeTheta = 1e15;
inline constexpr double kMaxRopeFactor = 1e6;

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_READER_ROPE_OPTIONS_H_
