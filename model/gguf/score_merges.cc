#include "model/gguf/score_merges.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace phyllo {
namespace {

struct Merge {
  absl::string_view left;
  absl::string_view right;
  double score = 0;
  int64_t left_length = 0;  // in characters
  int64_t right_length = 0;
};

bool BeginsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

// The merges that give `piece`, those of smaller ids first.
void AddMerges(const ScoredPiece& piece,
               const absl::flat_hash_map<absl::string_view, int64_t>& id_of,
               std::vector<Merge>& merges) {
  const int64_t length = std::count_if(piece.text.begin(), piece.text.end(), BeginsCharacter);
  std::vector<std::pair<std::pair<int64_t, int64_t>, Merge>> found;
  int64_t left_length = 1;
  for (size_t cut = 1; cut < piece.text.size(); ++cut) {
    if (!BeginsCharacter(piece.text[cut])) continue;
    const absl::string_view left = piece.text.substr(0, cut);
    const absl::string_view right = piece.text.substr(cut);
    const auto left_id = id_of.find(left);
    const auto right_id = id_of.find(right);
    if (left_id != id_of.end() && right_id != id_of.end()) {
      found.push_back({{left_id->second, right_id->second},
                       {left, right, piece.score, left_length, length - left_length}});
    }
    ++left_length;
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [ids, merge] : found) merges.push_back(merge);
}

}  // namespace

std::vector<std::pair<absl::string_view, absl::string_view>> MergesByScore(
    absl::Span<const ScoredPiece> pieces) {
  absl::flat_hash_map<absl::string_view, int64_t> id_of;
  for (const ScoredPiece& piece : pieces) id_of.emplace(piece.text, piece.id);
  std::vector<Merge> merges;
  for (const ScoredPiece& piece : pieces) AddMerges(piece, id_of, merges);
  std::stable_sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) {
    if (a.score != b.score) return a.score > b.score;
    if (a.left_length != b.left_length) return a.left_length > b.left_length;
    return a.right_length > b.right_length;
  });
  std::vector<std::pair<absl::string_view, absl::string_view>> result;
  result.reserve(merges.size());
  for (const Merge& merge : merges) result.emplace_back(merge.left, merge.right);
  return result;
}

}  // namespace phyllo
