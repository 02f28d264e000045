#include "model/tokenizer/jinja_template.h"

#include <ctime>
#include <stdexcept>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "minja/minja.hpp"
#include "model/base/exception_barrier.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/text/unicode.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

// Python's str.isspace, which its strip() goes by.
bool IsPythonSpace(char32_t c) { return IsWhitespace(c) || (c >= 0x1C && c <= 0x1F); }

// Jinja's trim; minja's own knows ASCII only.
std::string Trim(absl::string_view text) {
  size_t begin = 0, end = text.size();
  while (begin < end && IsPythonSpace(CodePointAt(text, begin))) begin += Utf8Length(text[begin]);
  while (begin < end) {
    const size_t last = PreviousCharacter(text, end);
    if (!IsPythonSpace(CodePointAt(text, last))) break;
    end = last;
  }
  return std::string(text.substr(begin, end - begin));
}

std::string FormatNow(const std::string& format) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char buffer[256];
  const size_t length = std::strftime(buffer, sizeof(buffer), format.c_str(), &local);
  return std::string(buffer, length);
}

// What the caller may see of an error of the template engine: its kind. What follows the colon may
// quote the conversation.
std::string WithoutQuotes(absl::string_view message) {
  return std::string(message.substr(0, message.find_first_of(":\n")));
}

// Defines the functions that differ from, or are missing among, minja's own. `raised` receives the
// message of raise_exception.
void DefineFunctions(minja::Context* context, std::string* raised) {
  context->set("raise_exception",
               minja::simple_function("raise_exception", {"message"},
                                      [raised](const std::shared_ptr<minja::Context>&,
                                               minja::Value& arguments) -> minja::Value {
                                        *raised = arguments.at("message").get<std::string>();
                                        if (raised->empty())
                                          *raised = "the chat template refused the conversation";
                                        throw std::runtime_error(
                                            *raised);  // Minja's way to stop; caught in Render.
                                      }));
  context->set("strftime_now",
               minja::simple_function(
                   "strftime_now", {"format"},
                   [](const std::shared_ptr<minja::Context>&, minja::Value& arguments) {
                     return minja::Value(FormatNow(arguments.at("format").get<std::string>()));
                   }));
  context->set("trim", minja::simple_function(
                           "trim", {"text"},
                           [](const std::shared_ptr<minja::Context>&, minja::Value& arguments) {
                             const minja::Value& text = arguments.at("text");
                             return text.is_null() ? text : minja::Value(Trim(text.to_str()));
                           }));
}

}  // namespace

struct JinjaTemplate::Impl {
  std::shared_ptr<minja::TemplateNode> root;  // Shared with nobody; minja makes nothing else.
};

JinjaTemplate::JinjaTemplate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JinjaTemplate::~JinjaTemplate() = default;

absl::StatusOr<std::unique_ptr<JinjaTemplate>> JinjaTemplate::Compile(absl::string_view source) {
  auto impl = absl::make_unique<Impl>();
  const absl::Status status = CatchExceptions("chat template", [&] {
    const minja::Options options{/*trim_blocks=*/true, /*lstrip_blocks=*/true,
                                 /*keep_trailing_newline=*/false};
    impl->root = minja::Parser::parse(std::string(source), options);
  });
  if (absl::IsInternal(status)) return absl::InvalidArgumentError(status.message());
  PHYLLO_RETURN_IF_ERROR(status);
  return absl::WrapUnique(new JinjaTemplate(std::move(impl)));
}

absl::StatusOr<std::string> JinjaTemplate::Render(const nlohmann::ordered_json& variables) const {
  std::string rendered;
  std::string raised;
  const absl::Status status = CatchExceptions("chat template", [&] {
    const std::shared_ptr<minja::Context> context = minja::Context::make(minja::Value(variables));
    DefineFunctions(context.get(), &raised);
    rendered = impl_->root->render(context);
  });
  if (status.ok()) return rendered;
  if (!raised.empty()) return absl::InvalidArgumentError(raised);
  if (!absl::IsInternal(status)) return status;
  absl::string_view reason = status.message();
  reason.remove_prefix(absl::string_view("chat template: ").size());
  return absl::InvalidArgumentError(
      absl::StrCat("the chat template failed on this conversation: ", WithoutQuotes(reason)));
}

}  // namespace phyllo
