// The component "model" of type BPE: byte pair encoding of one word.
#ifndef PHYLLO_MODEL_TOKENIZER_WORD_MODELS_BPE_MODEL_H_
#define PHYLLO_MODEL_TOKENIZER_WORD_MODELS_BPE_MODEL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "model/tokenizer/word_models/bpe_merger.h"
#include "model/tokenizer/word_models/mark_cuts.h"
#include "model/tokenizer/word_models/vocabulary.h"
#include "model/tokenizer/word_models/word_model.h"
#include "model/tokenizer/word_models/word_token.h"
#include "nlohmann/json_fwd.hpp"

namespace phyllo {

// How the characters of a word are looked up; tokenizer.json's own names.
struct BpeOptions {
  std::string continuing_subword_prefix;
  std::string end_of_word_suffix;
  int32_t unk_id = -1;  // -1: none.
  bool fuse_unk = false;
  bool byte_fallback = false;
  bool ignore_merges = false;
  bool byte_level = false;  // Words are bytes; the vocabulary is in the alphabet of byte_level.h.
};

// Immutable, thread-safe.
class BpeModel : public WordModel {
 public:
  // From the object "model"; `byte_level`: see BpeOptions. Errors: INVALID_ARGUMENT (malformed; a
  // merge whose parts or result are not in the vocabulary), UNIMPLEMENTED (dropout).
  static absl::StatusOr<std::unique_ptr<BpeModel>> FromJson(const nlohmann::json& model,
                                                            bool byte_level);

  // From its parts; all ids are of `vocabulary`.
  BpeModel(Vocabulary vocabulary, BpeOptions options, BpeMerger merger);

  std::unique_ptr<Scratch> NewScratch() const override;

  // Characters that are unknown where the file names no unknown token are dropped; their bytes
  // count to a neighbour. Never fails.
  absl::Status Encode(absl::string_view word, Scratch* scratch,
                      std::vector<WordToken>* tokens) const override;

 private:
  struct BpeScratch;

  void FillByteTables();
  void FindCuts();

  void EncodeWord(absl::string_view word, BpeScratch* scratch,
                  std::vector<WordToken>* tokens) const;
  absl::optional<int32_t> WholeWordId(absl::string_view word) const;
  void EncodeUncached(absl::string_view word, BpeScratch* scratch) const;
  void SplitIntoSymbols(absl::string_view word, std::vector<WordToken>* symbols) const;
  int32_t CharacterId(absl::string_view character, bool first, bool last) const;
  bool AppendByteTokens(absl::string_view character, std::vector<WordToken>* symbols) const;

  const BpeOptions options_;
  const BpeMerger merger_;
  absl::flat_hash_map<std::string, int32_t>
      ids_of_bytes_;  // Of whole words; only if byte_level and ignore_merges.
  std::array<int32_t, 256>
      byte_ids_;  // Of one-byte characters (ASCII; all if byte_level), -1: none.
  std::array<int32_t, 256> fallback_ids_;  // Of <0x00> ... <0xFF>, -1: none.
  absl::optional<MarkCuts> cuts_;          // None: words are not cut.
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_WORD_MODELS_BPE_MODEL_H_
