#include "services/common/logger.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "spdlog/logger.h"
#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/sinks/stdout_sinks.h"

namespace phyllo {
namespace {

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

absl::string_view LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

// `text` between double quotes; control characters, quotes and backslashes escaped as in JSON.
// Other bytes pass: values are UTF-8.
void AppendQuoted(absl::string_view text, std::string& line) {
  line.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      line.push_back('\\');
      line.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      absl::StrAppendFormat(&line, "\\u%04x", static_cast<unsigned char>(c));
    } else {
      line.push_back(c);
    }
  }
  line.push_back('"');
}

bool NeedsQuotes(absl::string_view text) {
  if (text.empty()) return true;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7F || c == '"' || c == '=' || c == '\\')
      return true;
  }
  return false;
}

void AppendLogfmt(const LogField& field, std::string& line) {
  if (!line.empty()) line.push_back(' ');
  absl::StrAppend(&line, field.key(), "=");
  if (NeedsQuotes(field.value())) {
    AppendQuoted(field.value(), line);
  } else {
    absl::StrAppend(&line, field.value());
  }
}

void AppendJson(const LogField& field, std::string& line) {
  line.push_back(line.empty() ? '{' : ',');
  AppendQuoted(field.key(), line);
  line.push_back(':');
  if (field.is_text()) {
    AppendQuoted(field.value(), line);
  } else {
    absl::StrAppend(&line, field.value());
  }
}

}  // namespace

absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view text) {
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    if (text == LevelName(level)) return level;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is none of debug, info, warning, error"));
}

absl::StatusOr<LogFormat> ParseLogFormat(absl::string_view text) {
  if (text == "logfmt") return LogFormat::kLogfmt;
  if (text == "json") return LogFormat::kJson;
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is neither logfmt nor json"));
}

LogField::LogField(absl::string_view key, absl::string_view value)
    : key_(key), value_(value), is_text_(true) {}
LogField::LogField(absl::string_view key, bool value)
    : key_(key), value_(value ? "true" : "false"), is_text_(false) {}
LogField::LogField(absl::string_view key, double value)
    : key_(key), value_(absl::StrFormat("%.6g", value)), is_text_(false) {
  // JSON has no words for these.
  is_text_ = !(value - value == 0);
}
LogField::LogField(absl::string_view key, absl::Duration value)
    : LogField(key, absl::ToDoubleSeconds(value)) {}
LogField::LogField(absl::string_view key, const absl::Status& value)
    : LogField(key, value.ok() ? std::string("OK")
                               : absl::StrCat(absl::StatusCodeToString(value.code()), ": ",
                                              value.message())) {}

// spdlog's logger with one sink that locks; it is in no registry of spdlog's.
class Logger::Sink {
 public:
  explicit Sink(const LoggerOptions& options) : logger_(options.service, MakeSink(options.stream)) {
    logger_.set_pattern("%v");
    logger_.set_level(SpdlogLevel(options.level));
    logger_.flush_on(spdlog::level::debug);
  }

  bool Takes(LogLevel level) const { return logger_.should_log(SpdlogLevel(level)); }
  void Write(LogLevel level, const std::string& line) {
    logger_.log(SpdlogLevel(level), spdlog::string_view_t(line));
  }

 private:
  static spdlog::sink_ptr MakeSink(std::ostream* stream) {
    if (stream != nullptr) return std::make_shared<spdlog::sinks::ostream_sink_mt>(*stream);
    return std::make_shared<spdlog::sinks::stderr_sink_mt>();
  }

  spdlog::logger logger_;
};

Logger::Logger(LoggerOptions options)
    : options_(std::move(options)), sink_(std::make_unique<Sink>(options_)) {}

Logger::~Logger() = default;

void Logger::Debug(absl::string_view event, std::initializer_list<LogField> fields) {
  Write(LogLevel::kDebug, event, fields);
}
void Logger::Info(absl::string_view event, std::initializer_list<LogField> fields) {
  Write(LogLevel::kInfo, event, fields);
}
void Logger::Warning(absl::string_view event, std::initializer_list<LogField> fields) {
  Write(LogLevel::kWarning, event, fields);
}
void Logger::Error(absl::string_view event, std::initializer_list<LogField> fields) {
  Write(LogLevel::kError, event, fields);
}

void Logger::Write(LogLevel level, absl::string_view event,
                   std::initializer_list<LogField> fields) {
  if (!sink_->Takes(level)) return;
  const auto append = options_.format == LogFormat::kJson ? AppendJson : AppendLogfmt;
  std::string line;
  append({"ts", absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::Now(), absl::UTCTimeZone())}, line);
  append({"level", LevelName(level)}, line);
  append({"service", options_.service}, line);
  append({"event", event}, line);
  for (const LogField& field : fields) append(field, line);
  if (options_.format == LogFormat::kJson) line.push_back('}');
  sink_->Write(level, line);
}

}  // namespace phyllo
