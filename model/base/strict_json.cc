#include "model/base/strict_json.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace phyllo {
namespace {

using Json = nlohmann::json;

// Watches the parse: the first fault is kept, and values below it are dropped, not built.
class Watcher {
 public:
  bool OnEvent(int depth, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start) {
      if (depth >= kMaxJsonDepth) SetFault(absl::StrCat("nested deeper than ", kMaxJsonDepth));
      if (!fault_.empty()) return false;
      if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      if (!keys_.empty()) keys_.pop_back();
    } else if (event == Json::parse_event_t::key && !keys_.empty()) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second)
        SetFault(absl::StrCat("key \"", key.substr(0, 120), "\" occurs twice in one object"));
    }
    return fault_.empty();
  }

  const std::string& fault() const { return fault_; }

 private:
  void SetFault(std::string fault) {
    if (fault_.empty()) fault_ = std::move(fault);
  }

  std::vector<absl::flat_hash_set<std::string>> keys_;  // of the open objects
  std::string fault_;
};

}  // namespace

absl::StatusOr<Json> ParseJsonObject(absl::string_view text, absl::string_view what) {
  Watcher watcher;
  const Json::parser_callback_t callback = [&watcher](int depth, Json::parse_event_t event,
                                                      Json& parsed) {
    return watcher.OnEvent(depth, event, parsed);
  };
  Json json = Json::parse(text.begin(), text.end(), callback, /*allow_exceptions=*/false);
  if (!watcher.fault().empty())
    return absl::InvalidArgumentError(absl::StrCat(what, ": ", watcher.fault()));
  if (json.is_discarded())
    return absl::InvalidArgumentError(absl::StrCat(what, ": not valid JSON"));
  if (!json.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": must be a JSON object, is ", json.type_name()));
  }
  return json;
}

}  // namespace phyllo
