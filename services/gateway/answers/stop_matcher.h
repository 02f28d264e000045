// Finds the end of an answer in its text.
#ifndef PHYLLO_SERVICES_GATEWAY_ANSWERS_STOP_MATCHER_H_
#define PHYLLO_SERVICES_GATEWAY_ANSWERS_STOP_MATCHER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace phyllo {

// Looks for stop sequences in a text that comes in pieces, however it is cut: the automaton of Aho
// and Corasick (1975) over bytes. The text ends at the first byte that completes a stop sequence;
// if several are completed there, the longest counts. What may still become a stop sequence, the
// longest suffix that is a proper prefix of one, is held back. Pieces and stop sequences are UTF-8;
// then so is all that comes out. Thread-compatible.
class StopMatcher {
 public:
  // Each of `stop_sequences` has at least one byte. With `include_match` the stop sequence stays at
  // the end of the text.
  StopMatcher(const std::vector<std::string>& stop_sequences, bool include_match);

  // Takes the next piece; returns the text that can be given out now. After a match all further
  // text is dropped.
  std::string Append(absl::string_view piece);

  // The text has ended: returns what was held back.
  std::string Finish();

  // Index of the stop sequence that ended the text; no value if none did.
  std::optional<int64_t> matched() const { return matched_; }

 private:
  struct Node {
    int32_t depth = 0;  // Bytes from the root: the length of the prefix that this node stands for.
    int32_t fallback =
        0;  // The node of the longest proper suffix that is a prefix of a stop sequence.
    int32_t match = -1;      // Index of the longest stop sequence that ends here, or -1.
    int32_t match_size = 0;  // Its bytes.
  };

  void AddSequence(const std::string& sequence, int32_t index);
  void LinkFallbacks();
  // The child of `node` along `byte`, or -1.
  int32_t Child(int32_t node, uint8_t byte) const;
  int32_t Step(int32_t node, uint8_t byte) const;

  const bool include_match_;
  std::vector<Node> nodes_;  // [0] is the root; children come after their parents.
  absl::flat_hash_map<int64_t, int32_t> children_;  // Key: node * 256 + byte.
  int32_t state_ = 0;
  std::string held_;  // The last nodes_[state_].depth bytes.
  std::optional<int64_t> matched_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_ANSWERS_STOP_MATCHER_H_
