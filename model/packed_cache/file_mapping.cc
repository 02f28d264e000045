#include "model/packed_cache/file_mapping.h"

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace phyllo {
namespace {

// "00400000-00452000 r--s ..." begins the part of a mapping, "Name: value" are its lines.
bool BeginsMapping(absl::string_view line) {
  const size_t dash = line.find('-');
  return dash != absl::string_view::npos && dash < line.find(' ') && dash < line.find(':');
}

}  // namespace

int64_t ParseHugeFileBytes(absl::string_view smaps, uint64_t address) {
  const std::string begin = absl::StrCat(absl::Hex(address, absl::kZeroPad8), "-");
  bool found = false;
  for (absl::string_view line : absl::StrSplit(smaps, '\n')) {
    if (BeginsMapping(line)) {
      if (found) return 0;
      found = absl::ConsumePrefix(&line, begin);
    } else if (found && absl::ConsumePrefix(&line, "FilePmdMapped:") &&
               absl::ConsumeSuffix(&line, "kB")) {
      int64_t kilobytes = 0;
      return absl::SimpleAtoi(line, &kilobytes) && kilobytes >= 0 ? kilobytes * 1024 : 0;
    }
  }
  return 0;
}

int64_t ReadHugeFileBytes(const void* address) {
  std::ostringstream text;
  text << std::ifstream("/proc/self/smaps").rdbuf();
  return ParseHugeFileBytes(text.str(), reinterpret_cast<uint64_t>(address));
}

}  // namespace phyllo
