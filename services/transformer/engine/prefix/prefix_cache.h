// Finds the pages that hold the keys and values of tokens computed before.
//   PrefixCache cache(model);
//   PrefixCache::Path path = cache.Attach(name, token_ids, limit, pages);  // pages are empty
//   before
//   ... compute positions [path.token_count(), n) ...
//   cache.Insert(path, token_ids, n, pages);
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_PREFIX_PREFIX_CACHE_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_PREFIX_PREFIX_CACHE_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "model/kv_cache/sequence_pages.h"
#include "services/transformer/engine/scheduling/page_counts.h"
#include "services/transformer/engine/step_model.h"

namespace phyllo {

// A tree for each name (whose requests may share pages): a node stands for the tokens of one page
// behind those of its parents, and knows the page of each group of layers that holds their keys and
// values, as far as it is still there. Nodes are found by the tokens themselves, so nothing is
// shared that is not equal. A page belongs to the sequences that use it; when the last of them lets
// go it is free, and the cache only remembers it until the allocator hands it out again, the one
// freed longest ago first (PageAllocator::Remember). So the cache never takes memory from anybody.
// Contents of remembered pages must not be written; who needs the first part of a page gets a copy.
// Thread-compatible; one thread alone may allocate pages of the model while the cache lives.
class PrefixCache {
 public:
  // Borrows the model.
  explicit PrefixCache(StepModel& model);
  ~PrefixCache();
  PrefixCache(const PrefixCache&) = delete;
  PrefixCache& operator=(const PrefixCache&) = delete;

 private:
  struct Node;

 public:
  // The place in the tree up to which a sequence's pages are known. Movable; keeps the place alive.
  class Path {
   public:
    Path() = default;
    Path(Path&& other) noexcept;
    Path& operator=(Path&& other) noexcept;
    ~Path();

    // Tokens that Attach found: positions [0, token_count()) need not be computed.
    int64_t token_count() const { return token_count_; }

   private:
    friend class PrefixCache;
    Path(PrefixCache* cache, Node* node, int64_t page_count, int64_t token_count);
    void Move(Node* node);  // pins `node` instead

    PrefixCache* cache_ = nullptr;
    Node* node_ = nullptr;    // pinned
    int64_t page_count_ = 0;  // its depth
    int64_t token_count_ = 0;
  };

  // What Attach would find now.
  struct Match {
    int64_t token_count = 0;
    PageCounts page_counts = {};  // pages that the sequence would hold
    PageCounts free_counts = {};  // of them, those that would be taken from the free ones
  };
  // The longest stored beginning of token_ids, at most `limit` tokens, which must be in [0,
  // token_ids.size()]. In groups with a window only the pages in the window of the next position
  // are needed.
  Match Find(const std::string& name, absl::Span<const int32_t> token_ids, int64_t limit) const;

  // Finds the same and puts the pages into `pages`, which must be empty. Of a page that agrees in
  // its first tokens only, a copy is made if there is a free page for it.
  Path Attach(const std::string& name, absl::Span<const int32_t> token_ids, int64_t limit,
              SequencePages& pages);

  // Remembers the pages of `pages` that positions [0, token_count) fill, from where `path` stands
  // on, and moves the path there. Requires token_count <= token_ids.size(), computed positions, and
  // pages of groups with a window not yet given back since the last call.
  void Insert(Path& path, absl::Span<const int32_t> token_ids, int64_t token_count,
              const SequencePages& pages);

  // Remembers the last page too, which positions [0, token_count) fill in part only. To be called
  // when nobody will write to it any more, after Insert.
  void InsertTail(const Path& path, absl::Span<const int32_t> token_ids, int64_t token_count,
                  const SequencePages& pages);

  // Forgets all pages of a sequence.
  void Forget(const SequencePages& pages);

  // Pages that were remembered until another use was found for them.
  int64_t evicted_page_count() const { return evicted_page_count_; }
  // Pages that are remembered.
  int64_t page_count() const { return page_count_; }

 private:
  // What a search finds: the nodes of whole pages, then the node whose first tokens agree.
  struct Found {
    int64_t page_count = 0;   // the first of walked_ that are of use
    Node* last = nullptr;     // the last of them, or the root; null if there is no tree
    Node* partial = nullptr;  // null if partial_count is 0
    int64_t partial_count = 0;
  };

  Found Search(const std::string& name, absl::Span<const int32_t> token_ids, int64_t limit) const;
  // Sets partial and partial_count.
  void SearchPartial(absl::Span<const int32_t> token_ids, Found& found) const;
  int64_t TokenCount(const Found& found) const {
    return found.page_count * page_size_ + found.partial_count;
  }
  bool HasAllPages(const Node& node) const;
  // Attaches a copy of found.partial; false if there is no free page.
  bool AttachCopy(const Found& found, SequencePages& pages);
  Node* Child(Node& node, absl::Span<const int32_t> tokens);
  void SetPages(Node& node, int64_t page_index, const SequencePages& pages);
  void ForgetPage(int64_t group, int32_t page_id);
  // Deletes the node, and its parents, as far as nothing needs them.
  void Prune(Node* node);

  StepModel& model_;
  const int64_t page_size_;
  std::map<std::string, std::unique_ptr<Node>> roots_;
  std::vector<std::vector<Node*>> node_of_page_;  // [groups][page_count], null if not remembered
  mutable std::vector<Node*> walked_;             // scratch of Search: the nodes along the tokens
  int64_t evicted_page_count_ = 0;
  int64_t page_count_ = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_PREFIX_PREFIX_CACHE_H_
