// The component "model" of type BPE: byte pair encoding of one word.
#ifndef PHYLLO_MODEL_TOKENIZER_COMPONENTS_BPE_MODEL_H_
#define PHYLLO_MODEL_TOKENIZER_COMPONENTS_BPE_MODEL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "model/tokenizer/components/bpe_merger.h"
#include "model/tokenizer/components/word_cache.h"
#include "nlohmann/json_fwd.hpp"

namespace phyllo {

// What one thread needs to encode words. Thread-compatible; belongs to one model.
struct BpeScratch {
  BpeMerger::Scratch merger;
  std::vector<BpeMerger::Symbol> symbols;
  WordCache cache;
};

// Immutable, thread-safe.
class BpeModel {
 public:
  // From the object "model". With `byte_level` words are bytes and the vocabulary is written in the
  // alphabet of byte_level.h. Errors: INVALID_ARGUMENT (malformed; a merge whose parts or result
  // are not in the vocabulary), UNIMPLEMENTED (dropout).
  static absl::StatusOr<std::unique_ptr<BpeModel>> FromJson(const nlohmann::json& model,
                                                            bool byte_level);

  // Appends the tokens of `word` (valid UTF-8) to `tokens`: their ids and the number of bytes of
  // `word` each stands for. Characters that are unknown where the file names no unknown token are
  // dropped; their bytes count to a neighbour.
  void Encode(absl::string_view word, BpeScratch* scratch,
              std::vector<BpeMerger::Symbol>* tokens) const;

  absl::optional<int32_t> IdOf(absl::string_view token) const;

  // The token `id` as written in the vocabulary; none if there is no such id. Lives as long as the
  // model.
  absl::optional<absl::string_view> TokenOf(int32_t id) const;

  // One more than the largest id.
  int64_t vocab_size() const { return static_cast<int64_t>(tokens_.size()); }

 private:
  // How the characters of a word are looked up; the file's own names.
  struct Options {
    std::string continuing_subword_prefix;
    std::string end_of_word_suffix;
    int32_t unk_id = -1;  // -1: none.
    bool fuse_unk = false;
    bool byte_fallback = false;
    bool ignore_merges = false;
    bool byte_level = false;
  };

  BpeModel() = default;

  absl::Status ReadVocabulary(const nlohmann::json& model);
  absl::Status ReadOptions(const nlohmann::json& model);
  absl::Status ReadMerges(const nlohmann::json& model);
  absl::Status AddMerge(absl::string_view left, absl::string_view right, int64_t rank);
  void FillByteTables();
  void FindJoinsBeforeMark();

  void EncodeWord(absl::string_view word, BpeScratch* scratch,
                  std::vector<BpeMerger::Symbol>* tokens) const;
  void EncodeUncached(absl::string_view word, BpeScratch* scratch) const;
  void SplitIntoSymbols(absl::string_view word, std::vector<BpeMerger::Symbol>* symbols) const;
  int32_t CharacterId(absl::string_view character, bool first, bool last) const;
  bool AppendByteTokens(absl::string_view character, std::vector<BpeMerger::Symbol>* symbols) const;

  Options options_;
  absl::flat_hash_map<std::string, int32_t> ids_;
  std::vector<absl::optional<std::string>> tokens_;  // [vocab_size]; none: unused id.
  absl::flat_hash_map<std::string, int32_t>
      ids_of_bytes_;  // Of whole words; only if byte_level and ignore_merges.
  std::array<int32_t, 256>
      byte_ids_;  // Of one-byte characters (ASCII; all if byte_level), -1: none.
  std::array<int32_t, 256> fallback_ids_;  // Of <0x00> ... <0xFF>, -1: none.
  // SentencePiece files have no pre-tokenizer: the text is one word, with U+2581 for spaces. It is
  // cut before every U+2581 but where some token holds that mark behind the same character; no
  // merge can cross such a cut.
  bool cut_before_mark_ = false;
  absl::flat_hash_set<char32_t>
      joins_before_mark_;  // Characters that some token holds before the mark.
  BpeMerger merger_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_COMPONENTS_BPE_MODEL_H_
