// Conversations to prompts: the checkpoint's Jinja template, rendered so that content cannot become
// a control token.
#ifndef PHYLLO_MODEL_TOKENIZER_CHAT_TEMPLATE_H_
#define PHYLLO_MODEL_TOKENIZER_CHAT_TEMPLATE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/tokenizer/tokenizer.h"

namespace phyllo {

struct ChatRequest {
  // JSON array of objects, each with "role" and whatever the template reads: "content" (text, null,
  // or an array of parts), "tool_calls", "reasoning_content", "name" ... The order of keys is kept.
  std::string messages_json;
  // JSON array of tool definitions; empty: none.
  std::string tools_json;
  // JSON object of further variables of the template (enable_thinking ...); empty: none.
  std::string kwargs_json;
  bool add_generation_prompt = true;
  // True: control tokens spelled in the conversation are control tokens, as in transformers. Only
  // for callers that write every message themselves.
  bool parse_special_tokens_in_content = false;
};

// A part of the prompt: written by the template (control) or taken from the request (data).
struct PromptSegment {
  enum class Kind { kControl, kData };
  Kind kind = Kind::kControl;
  std::string text;
};

struct RenderedChat {
  std::string text;
  // Concatenated they are `text`. Where the template takes content apart, so that not every
  // boundary can be proved, a control segment may hold harmless data (no spelling of a control
  // token), never the reverse.
  std::vector<PromptSegment> segments;
  // [n] token ids of `text`.
  std::vector<int32_t> ids;
};

// Immutable, thread-safe. Borrows the tokenizer, which must outlive it.
//
// No string of the request can yield a control token (see LiteralRange): those are recognised only
// in text that the template wrote. Other added tokens that the template spells (<tool_call>,
// <think> ...) are recognised there and in the assistant's own messages, which are the model's
// output.
class ChatTemplate {
 public:
  // Compiles tokenizer.config().chat_template. Errors: FAILED_PRECONDITION (the model has no
  // template), INVALID_ARGUMENT (the template does not compile).
  static absl::StatusOr<std::unique_ptr<ChatTemplate>> Create(const Tokenizer& tokenizer);

  ~ChatTemplate();

  // Renders and tokenizes a conversation. Errors: INVALID_ARGUMENT (malformed request; or the
  // template refused it, with the template's own message).
  absl::StatusOr<RenderedChat> Render(const ChatRequest& request) const;

 private:
  struct Parts;
  ChatTemplate(const Tokenizer& tokenizer, std::unique_ptr<Parts> parts);

  const Tokenizer& tokenizer_;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_CHAT_TEMPLATE_H_
