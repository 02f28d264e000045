// Structured log lines on standard error, one event a line, in logfmt or JSON.
//
//   logger.Info("request finished", {{"request_id", id}, {"prompt_tokens", 12}, {"total_seconds",
//   0.31}}); ts=2026-01-02T03:04:05.678901Z level=info service=gateway event="request finished"
//   request_id=... prompt_tokens=12 ...
//
// A line never holds user text: no prompts, no generated text, no token ids. Sizes, ids of requests
// and codes only.
#ifndef PHYLLO_SERVICES_COMMON_LOGGER_H_
#define PHYLLO_SERVICES_COMMON_LOGGER_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace phyllo {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kLogfmt, kJson };

// "debug", "info", "warning" or "error"; anything else is INVALID_ARGUMENT.
absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view text);
// "logfmt" or "json"; anything else is INVALID_ARGUMENT.
absl::StatusOr<LogFormat> ParseLogFormat(absl::string_view text);

// One key and one value of a line. Keys are lower_snake_case literals; numbers and booleans stay
// bare in JSON. Durations are written as seconds, a status as "CODE: message".
class LogField {
 public:
  LogField(absl::string_view key, absl::string_view value);
  LogField(absl::string_view key, const std::string& value)
      : LogField(key, absl::string_view(value)) {}
  LogField(absl::string_view key, const char* value) : LogField(key, absl::string_view(value)) {}
  LogField(absl::string_view key, bool value);
  LogField(absl::string_view key, double value);
  LogField(absl::string_view key, absl::Duration value);
  LogField(absl::string_view key, const absl::Status& value);
  template <
      typename Integer,
      std::enable_if_t<std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>, int> = 0>
  LogField(absl::string_view key, Integer value)
      : key_(key), value_(std::to_string(value)), is_text_(false) {}

  absl::string_view key() const { return key_; }
  absl::string_view value() const { return value_; }
  // False for values that JSON writes without quotes.
  bool is_text() const { return is_text_; }

 private:
  absl::string_view key_;
  std::string value_;
  bool is_text_;
};

struct LoggerOptions {
  std::string service;  // The value of the "service" field, for example "gateway".
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kLogfmt;
  std::ostream* stream = nullptr;  // Borrowed; null: standard error.
};

// Writes whole lines, each in one call to the sink, and drops those below its level before any
// formatting. Thread-safe.
class Logger {
 public:
  explicit Logger(LoggerOptions options);
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  void Debug(absl::string_view event, std::initializer_list<LogField> fields = {});
  void Info(absl::string_view event, std::initializer_list<LogField> fields = {});
  void Warning(absl::string_view event, std::initializer_list<LogField> fields = {});
  void Error(absl::string_view event, std::initializer_list<LogField> fields = {});

 private:
  class Sink;
  void Write(LogLevel level, absl::string_view event, std::initializer_list<LogField> fields);

  const LoggerOptions options_;
  const std::unique_ptr<Sink> sink_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_COMMON_LOGGER_H_
