#include "model/tokenizer/incremental_decoder.h"

#include "absl/memory/memory.h"
#include "absl/types/optional.h"
#include "model/tokenizer/decoding/token_decoder.h"

namespace phyllo {
namespace {

void PushIds(const Tokenizer& tokenizer, absl::Span<const int32_t> ids, bool skip_special_tokens,
             bool from_prompt, DecodeStream* stream, std::string* text) {
  for (const int32_t id : ids) {
    const absl::optional<TokenInfo> token = tokenizer.FindToken(id);
    if (!token.has_value() || (skip_special_tokens && token->special)) continue;
    stream->Push(token->token, from_prompt, text);
  }
}

}  // namespace

IncrementalDecoder::IncrementalDecoder(const Tokenizer& tokenizer, bool skip_special_tokens)
    : stream_(absl::make_unique<DecodeStream>(tokenizer.decoder(), kMaxHeldBytes)),
      skip_special_tokens_(skip_special_tokens),
      tokenizer_(&tokenizer) {}

IncrementalDecoder::~IncrementalDecoder() = default;
IncrementalDecoder::IncrementalDecoder(IncrementalDecoder&&) noexcept = default;

void IncrementalDecoder::Seed(absl::Span<const int32_t> prompt_ids) {
  std::string unused;
  PushIds(*tokenizer_, prompt_ids, skip_special_tokens_, /*from_prompt=*/true, stream_.get(),
          &unused);
}

std::string IncrementalDecoder::Append(absl::Span<const int32_t> ids) {
  std::string text;
  PushIds(*tokenizer_, ids, skip_special_tokens_, /*from_prompt=*/false, stream_.get(), &text);
  return text;
}

std::string IncrementalDecoder::Finish() {
  std::string text;
  stream_->Finish(&text);
  return text;
}

}  // namespace phyllo
