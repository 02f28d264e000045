// Fields are reached by protobuf's reflection, so that this table is all that a further parameter
// needs.
#include "clients/cli/request/request_settings.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "clients/cli/request/proto_json.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr RequestSetting kSettings[] = {
    {"temperature", "sampling.temperature", "T",
     "divides the logits; 0 always takes the most likely token"},
    {"top-k", "sampling.top_k", "K", "keeps the K most likely tokens"},
    {"top-p", "sampling.top_p", "P", "keeps the most likely tokens that sum to probability P"},
    {"min-p", "sampling.min_p", "P",
     "keeps tokens at least P times as likely as the most likely one"},
    {"typical-p", "sampling.typical_p", "P",
     "keeps tokens of typical information content up to mass P"},
    {"top-n-sigma", "sampling.top_n_sigma", "N",
     "keeps tokens within N standard deviations of the largest logit"},
    {"repetition-penalty", "sampling.repetition_penalty", "R",
     "makes tokens of prompt and answer less likely (above 1)"},
    {"frequency-penalty", "sampling.frequency_penalty", "F",
     "is subtracted for each time a token was generated"},
    {"presence-penalty", "sampling.presence_penalty", "F",
     "is subtracted if a token was generated"},
    {"penalty-window", "sampling.penalty_window", "N",
     "limits the penalties to the latest N tokens"},
    {"no-repeat-ngram", "sampling.no_repeat_ngram_size", "N", "repeats no N tokens in a row"},
    {"dry-multiplier", "sampling.dry.multiplier", "M",
     "switches DRY on: scales the penalty on going on with a repetition"},
    {"dry-base", "sampling.dry.base", "B", "is how the penalty of DRY grows with the repetition"},
    {"dry-allowed-length", "sampling.dry.allowed_length", "N",
     "is the repetition that DRY does not penalise"},
    {"dry-breaker-id", "sampling.dry.breaker_token_ids", "ID",
     "lets no repetition of DRY reach over a token id; repeatable"},
    {"xtc-probability", "sampling.xtc.probability", "P",
     "switches XTC on: how often it takes the likeliest choices away"},
    {"xtc-threshold", "sampling.xtc.threshold", "P",
     "is the likelihood from which on XTC counts a choice as one of the likeliest"},
    {"ban", "banned_texts", "TEXT",
     "keeps the tokens of TEXT, and of TEXT after a space, out of the answer; repeatable"},
    {"ban-ids", "sampling.banned_token_sequences", "ID,ID",
     "keeps a sequence of token ids out of the answer; repeatable"},
    {"logit-bias", "sampling.logit_bias", "ID=BIAS",
     "adds BIAS to the logit of a token id; repeatable"},
    {"allowed-token-id", "sampling.allowed_token_ids", "ID",
     "lets only these ids be chosen; repeatable"},
    {"seed", "sampling.seed", "N", "repeats an answer exactly; drawn at random without it"},
    {"max-new-tokens", "stopping.max_new_tokens", "N", "ends the answer after N tokens"},
    {"min-new-tokens", "stopping.min_new_tokens", "N", "allows no end of sequence before N tokens"},
    {"stop", "stop_sequences", "TEXT", "ends the answer before TEXT; repeatable"},
    {"include-stop", "include_stop_sequence", "BOOL", "keeps the stop sequence in the answer"},
    {"stop-token-id", "stopping.stop_token_ids", "ID", "ends the answer at a token id; repeatable"},
    {"ignore-eos", "stopping.ignore_eos", "BOOL", "goes on after the model's end of sequence"},
    {"time-limit", "stopping.time_limit", "TIME", "ends the answer after a time such as 30s"},
    {"n", "choice_count", "N", "generates N answers"},
    {"best-of", "best_of", "N", "generates N answers and returns the likeliest"},
    {"speculative-decoding", "speculative_decoding", "BOOL",
     "drafts tokens and verifies several in one step; =false: never; the answer is the same"},
    {"logprobs", "output.logprobs.top_count", "N",
     "reports log-probabilities of the N likeliest tokens (with --json)"},
    {"logprob-id", "output.logprobs.token_ids", "ID",
     "reports this token's log-probability as well; repeatable (with --json)"},
    {"prompt-logprobs", "output.prompt_logprobs.top_count", "N",
     "the same for the prompt's tokens (with --json)"},
    {"echo", "output.echo_prompt", "BOOL", "repeats the prompt before the answer"},
    {"token-ids", "output.token_ids", "BOOL", "reports the ids of the answer (with --json)"},
    {"special-tokens", "output.special_tokens", "BOOL", "shows control tokens in the answer"},
    {"add-special-tokens", "add_special_tokens", "BOOL",
     "adds the tokenizer's special tokens to a text prompt"},
    {"parse-special-tokens", "parse_special_tokens", "BOOL",
     "reads control tokens spelled in the prompt as such"},
    {"priority", "context.priority", "N", "orders waiting requests; larger is earlier"},
    {"tenant", "context.tenant", "NAME", "says whose request it is"},
    {"request-id", "context.request_id", "NAME", "names the request in the servers' logs"},
};

absl::StatusOr<const RequestSetting*> Find(absl::string_view name) {
  const std::string dashed = absl::StrReplaceAll(name, {{"_", "-"}});
  for (const RequestSetting& setting : kSettings) {
    if (setting.name == dashed) return &setting;
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no parameter \"", name, "\""));
}

// A field and the message it is in.
struct FieldPlace {
  Message* message;
  const FieldDescriptor* field;
};

// Walks down `path`, making the messages on the way.
FieldPlace Locate(absl::string_view path, Message& root) {
  FieldPlace place = {&root, nullptr};
  for (const absl::string_view name : absl::StrSplit(path, '.')) {
    if (place.field != nullptr)
      place.message = place.message->GetReflection()->MutableMessage(place.message, place.field);
    place.field = place.message->GetDescriptor()->FindFieldByName(std::string(name));
  }
  return place;
}

// Whether every message on the way to the field, and the field, is present.
bool IsPresent(absl::string_view path, const Message& root) {
  const Message* message = &root;
  const FieldDescriptor* field = nullptr;
  for (const absl::string_view name : absl::StrSplit(path, '.')) {
    if (field != nullptr) {
      if (!message->GetReflection()->HasField(*message, field)) return false;
      message = &message->GetReflection()->GetMessage(*message, field);
    }
    field = message->GetDescriptor()->FindFieldByName(std::string(name));
  }
  return field->is_repeated() ? message->GetReflection()->FieldSize(*message, field) > 0
                              : message->GetReflection()->HasField(*message, field);
}

// `id=bias` into a map entry.
bool AddBias(absl::string_view text, Message& sampling) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  int32_t id;
  float bias;
  if (!absl::SimpleAtoi(parts.first, &id) || !absl::SimpleAtof(parts.second, &bias)) return false;
  (*static_cast<common::v1::SamplingParameters&>(sampling).mutable_logit_bias())[id] = bias;
  return true;
}

// `id,id` into an element of banned_token_sequences.
bool AddSequence(absl::string_view text, Message& sequence) {
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    int32_t id;
    if (!absl::SimpleAtoi(part, &id)) return false;
    static_cast<common::v1::TokenSequence&>(sequence).add_token_ids(id);
  }
  return true;
}

bool SetDuration(absl::string_view text, Message& duration) {
  absl::Duration value;
  if (!absl::ParseDuration(text, &value)) return false;
  absl::Duration rest;
  auto& proto = static_cast<google::protobuf::Duration&>(duration);
  proto.set_seconds(absl::IDivDuration(value, absl::Seconds(1), &rest));
  proto.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
  return true;
}

// Sets the field from its text, or adds an element to a repeated one; false if the text does not
// fit the type.
bool SetFromText(const FieldPlace& place, absl::string_view text) {
  const Reflection& reflection = *place.message->GetReflection();
  const FieldDescriptor* const field = place.field;
  Message* const message = place.message;
  if (field->is_map()) return AddBias(text, *message);
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      int32_t value;
      if (!absl::SimpleAtoi(text, &value)) return false;
      field->is_repeated() ? reflection.AddInt32(message, field, value)
                           : reflection.SetInt32(message, field, value);
      return true;
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      uint64_t value;
      if (!absl::SimpleAtoi(text, &value)) return false;
      reflection.SetUInt64(message, field, value);
      return true;
    }
    case FieldDescriptor::CPPTYPE_FLOAT: {
      float value;
      if (!absl::SimpleAtof(text, &value)) return false;
      reflection.SetFloat(message, field, value);
      return true;
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      bool value;
      if (!absl::SimpleAtob(text, &value)) return false;
      reflection.SetBool(message, field, value);
      return true;
    }
    case FieldDescriptor::CPPTYPE_STRING:
      field->is_repeated() ? reflection.AddString(message, field, std::string(text))
                           : reflection.SetString(message, field, std::string(text));
      return true;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (field->is_repeated()) return AddSequence(text, *reflection.AddMessage(message, field));
      return SetDuration(text, *reflection.MutableMessage(message, field));
    default:
      return false;
  }
}

}  // namespace

absl::Span<const RequestSetting> RequestSettings() { return kSettings; }

absl::Status SetRequestField(absl::string_view name, absl::string_view value,
                             gateway::v1::GenerateRequest& request) {
  PHYLLO_ASSIGN_OR_RETURN(const RequestSetting* const setting, Find(name));
  gateway::v1::GenerateRequest changed = request;
  if (!SetFromText(Locate(setting->path, changed), value)) {
    return absl::InvalidArgumentError(
        absl::StrCat(setting->name, ": \"", value, "\" is no ", setting->value_name));
  }
  request = std::move(changed);
  return absl::OkStatus();
}

absl::Status ClearRequestField(absl::string_view name, gateway::v1::GenerateRequest& request) {
  PHYLLO_ASSIGN_OR_RETURN(const RequestSetting* const setting, Find(name));
  if (!IsPresent(setting->path, request)) return absl::OkStatus();
  const FieldPlace place = Locate(setting->path, request);
  place.message->GetReflection()->ClearField(place.message, place.field);
  return absl::OkStatus();
}

std::vector<std::string> DescribeRequestSettings(const gateway::v1::GenerateRequest& request) {
  std::vector<std::string> lines;
  for (const RequestSetting& setting : kSettings) {
    if (!IsPresent(setting.path, request)) continue;
    nlohmann::ordered_json value = ToJson(request);
    for (const absl::string_view name : absl::StrSplit(setting.path, '.'))
      value = nlohmann::ordered_json(value[std::string(name)]);
    lines.push_back(absl::StrCat(setting.name, " = ", DumpJson(value)));
  }
  return lines;
}

}  // namespace phyllo
