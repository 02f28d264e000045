// Jinja templates as transformers runs them, by minja. The only file pair that sees minja, which
// throws.
#ifndef PHYLLO_MODEL_TOKENIZER_JINJA_TEMPLATE_H_
#define PHYLLO_MODEL_TOKENIZER_JINJA_TEMPLATE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json_fwd.hpp"

namespace phyllo {

// A compiled template. Immutable, thread-safe.
class JinjaTemplate {
 public:
  // Compiles `source` with trim_blocks and lstrip_blocks. Errors: INVALID_ARGUMENT (does not
  // compile, with place and reason).
  static absl::StatusOr<std::unique_ptr<JinjaTemplate>> Compile(absl::string_view source);

  ~JinjaTemplate();

  // Renders with the members of the object `variables`. raise_exception and strftime_now are there,
  // as in transformers. Errors: INVALID_ARGUMENT (raise_exception was called: its message; or the
  // template failed otherwise).
  absl::StatusOr<std::string> Render(const nlohmann::ordered_json& variables) const;

 private:
  struct Impl;
  explicit JinjaTemplate(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_JINJA_TEMPLATE_H_
