// Invariant between calls: held_ is the longest suffix of the text so far that is a proper prefix
// of a stop sequence, and state_ its node.
#include "services/gateway/answers/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace phyllo {

StopMatcher::StopMatcher(const std::vector<std::string>& stop_sequences, bool include_match)
    : include_match_(include_match), nodes_(1) {
  for (size_t i = 0; i < stop_sequences.size(); ++i)
    AddSequence(stop_sequences[i], static_cast<int32_t>(i));
  LinkFallbacks();
}

std::string StopMatcher::Append(absl::string_view piece) {
  if (matched_.has_value()) return "";
  std::string text = std::exchange(held_, {});
  for (const char c : piece) {
    text.push_back(c);
    state_ = Step(state_, static_cast<uint8_t>(c));
    const Node& node = nodes_[state_];
    if (node.match < 0) continue;
    matched_ = node.match;
    if (!include_match_) text.resize(text.size() - node.match_size);
    return text;
  }
  held_ = text.substr(text.size() - nodes_[state_].depth);
  text.resize(text.size() - held_.size());
  return text;
}

std::string StopMatcher::Finish() { return std::exchange(held_, {}); }

void StopMatcher::AddSequence(const std::string& sequence, int32_t index) {
  int32_t node = 0;
  for (const char c : sequence) {
    const int64_t key = int64_t{node} * 256 + static_cast<uint8_t>(c);
    const auto [it, inserted] = children_.try_emplace(key, static_cast<int32_t>(nodes_.size()));
    if (inserted) nodes_.push_back({nodes_[node].depth + 1});
    node = it->second;
  }
  if (nodes_[node].match >= 0) return;  // The same sequence twice: the first counts.
  nodes_[node].match = index;
  nodes_[node].match_size = static_cast<int32_t>(sequence.size());
}

void StopMatcher::LinkFallbacks() {
  struct Edge {
    int32_t parent;
    uint8_t byte;
    int32_t child;
  };
  std::vector<Edge> edges;
  edges.reserve(children_.size());
  for (const auto& [key, child] : children_)
    edges.push_back({static_cast<int32_t>(key / 256), static_cast<uint8_t>(key % 256), child});
  // A fallback is less deep than its node, so depth by depth everything that is needed is there.
  std::sort(edges.begin(), edges.end(), [this](const Edge& a, const Edge& b) {
    return nodes_[a.child].depth < nodes_[b.child].depth;
  });
  for (const Edge& edge : edges) {
    Node& node = nodes_[edge.child];
    node.fallback = edge.parent == 0 ? 0 : Step(nodes_[edge.parent].fallback, edge.byte);
    if (node.match >= 0) continue;  // Its own sequence is longer than any that the fallback ends.
    node.match = nodes_[node.fallback].match;
    node.match_size = nodes_[node.fallback].match_size;
  }
}

int32_t StopMatcher::Child(int32_t node, uint8_t byte) const {
  const auto it = children_.find(int64_t{node} * 256 + byte);
  return it == children_.end() ? -1 : it->second;
}

int32_t StopMatcher::Step(int32_t node, uint8_t byte) const {
  while (true) {
    const int32_t child = Child(node, byte);
    if (child >= 0) return child;
    if (node == 0) return 0;
    node = nodes_[node].fallback;
  }
}

}  // namespace phyllo
