// Invariants:
// - node_of_page_[g][id] is the node whose page_ids[g] is id; exactly those pages are remembered by
//   the allocator of group g.
// - A node without pages, children and paths does not exist; nor does a root without children and
//   paths.
// - A node has page_size tokens, or fewer and no children.
#include "services/transformer/engine/prefix/prefix_cache.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"
#include "model/kv_cache/layer_groups.h"

namespace phyllo {
namespace {

struct TokensLess {
  bool operator()(absl::Span<const int32_t> a, absl::Span<const int32_t> b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  }
};

int64_t CommonCount(absl::Span<const int32_t> a, absl::Span<const int32_t> b) {
  const size_t count = std::min(a.size(), b.size());
  return std::mismatch(a.begin(), a.begin() + count, b.begin()).first - a.begin();
}

}  // namespace

struct PrefixCache::Node {
  Node* parent = nullptr;                                   // null for a root
  std::string name;                                         // of a root
  std::vector<int32_t> tokens;                              // empty for a root
  std::array<int32_t, KvLayerGroups::kMaxGroups> page_ids;  // PageTable::kReleased: not there
  int64_t path_count = 0;                                   // paths that stand here
  // By their tokens, in which the keys lie.
  std::map<absl::Span<const int32_t>, std::unique_ptr<Node>, TokensLess> children;

  Node() { page_ids.fill(PageTable::kReleased); }
};

PrefixCache::Path::Path(PrefixCache* cache, Node* node, int64_t page_count, int64_t token_count)
    : cache_(cache), page_count_(page_count), token_count_(token_count) {
  Move(node);
}

PrefixCache::Path::Path(Path&& other) noexcept { *this = std::move(other); }

PrefixCache::Path& PrefixCache::Path::operator=(Path&& other) noexcept {
  if (this == &other) return *this;
  if (node_ != nullptr) Move(nullptr);
  cache_ = std::exchange(other.cache_, nullptr);
  node_ = std::exchange(other.node_, nullptr);
  page_count_ = std::exchange(other.page_count_, 0);
  token_count_ = std::exchange(other.token_count_, 0);
  return *this;
}

PrefixCache::Path::~Path() {
  if (node_ != nullptr) Move(nullptr);
}

void PrefixCache::Path::Move(Node* node) {
  if (node != nullptr) ++node->path_count;
  Node* const old = std::exchange(node_, node);
  if (old == nullptr) return;
  --old->path_count;
  cache_->Prune(old);
}

PrefixCache::PrefixCache(StepModel& model) : model_(model), page_size_(model.sizes().page_size) {
  const absl::Span<const KvPageGroup> groups = model.page_groups();
  for (size_t group = 0; group < groups.size(); ++group) {
    node_of_page_.emplace_back(groups[group].allocator->page_count(), nullptr);
    groups[group].allocator->set_on_forgotten([this, group](int32_t page_id) {
      ++evicted_page_count_;
      ForgetPage(static_cast<int64_t>(group), page_id);
    });
  }
}

PrefixCache::~PrefixCache() {
  for (size_t group = 0; group < node_of_page_.size(); ++group) {
    PageAllocator& allocator = *model_.page_groups()[group].allocator;
    allocator.set_on_forgotten(nullptr);
    for (size_t page_id = 0; page_id < node_of_page_[group].size(); ++page_id) {
      if (node_of_page_[group][page_id] != nullptr) allocator.Forget(static_cast<int32_t>(page_id));
    }
  }
}

PrefixCache::Found PrefixCache::Search(const std::string& name, absl::Span<const int32_t> token_ids,
                                       int64_t limit) const {
  Found found;
  const auto root = roots_.find(name);
  if (root == roots_.end()) return found;
  token_ids = token_ids.first(limit);
  walked_.clear();
  Node* node = root->second.get();
  const auto page_tokens = [&](int64_t page) {
    return token_ids.subspan(page * page_size_, page_size_);
  };
  for (int64_t page = 0; (page + 1) * page_size_ <= limit; ++page) {
    const auto child = node->children.find(page_tokens(page));
    if (child == node->children.end()) break;
    node = child->second.get();
    walked_.push_back(node);
  }
  const absl::Span<const KvPageGroup> groups = model_.page_groups();
  PageCounts run = {};  // pages without a gap up to here
  for (int64_t count = 1; count <= static_cast<int64_t>(walked_.size()); ++count) {
    bool usable = true;
    for (size_t group = 0; group < groups.size(); ++group) {
      run[group] = walked_[count - 1]->page_ids[group] != PageTable::kReleased ? run[group] + 1 : 0;
      const int64_t first = FirstVisiblePage(groups[group].window, count * page_size_, page_size_);
      usable = usable && run[group] >= count - first;
    }
    if (usable) found.page_count = count;
  }
  found.last = found.page_count > 0 ? walked_[found.page_count - 1] : root->second.get();
  SearchPartial(token_ids.subspan(found.page_count * page_size_), found);
  return found;
}

void PrefixCache::SearchPartial(absl::Span<const int32_t> token_ids, Found& found) const {
  if (token_ids.empty()) return;
  token_ids = token_ids.subspan(0, page_size_);
  // In lexicographic order the longer the beginnings agree, the nearer. Neighbours whose pages are
  // gone are passed over; a few are enough, most have theirs.
  constexpr int kNeighbours = 8;
  const auto consider = [&](Node* node) {
    const int64_t count = CommonCount(node->tokens, token_ids);
    if (count > found.partial_count && HasAllPages(*node)) {
      found.partial = node;
      found.partial_count = count;
    }
    return count > found.partial_count;
  };
  const auto& children = found.last->children;
  const auto place = children.lower_bound(token_ids);
  auto after = place;
  for (int i = 0; i < kNeighbours && after != children.end(); ++i, ++after)
    if (!consider(after->second.get())) break;
  auto before = place;
  for (int i = 0; i < kNeighbours && before != children.begin(); ++i)
    if (!consider((--before)->second.get())) break;
}

bool PrefixCache::HasAllPages(const Node& node) const {
  for (size_t group = 0; group < node_of_page_.size(); ++group) {
    if (node.page_ids[group] == PageTable::kReleased) return false;
  }
  return true;
}

PrefixCache::Match PrefixCache::Find(const std::string& name, absl::Span<const int32_t> token_ids,
                                     int64_t limit) const {
  const Found found = Search(name, token_ids, limit);
  Match match = {.token_count = TokenCount(found)};
  const absl::Span<const KvPageGroup> groups = model_.page_groups();
  for (size_t group = 0; group < groups.size(); ++group) {
    const int64_t first = std::min(
        found.page_count, FirstVisiblePage(groups[group].window, match.token_count, page_size_));
    const int64_t copied = found.partial_count > 0 ? 1 : 0;
    match.page_counts[group] = found.page_count - first + copied;
    match.free_counts[group] = copied;
    for (int64_t page = first; page < found.page_count; ++page)
      match.free_counts[group] +=
          groups[group].allocator->InUse(walked_[page]->page_ids[group]) ? 0 : 1;
  }
  return match;
}

PrefixCache::Path PrefixCache::Attach(const std::string& name, absl::Span<const int32_t> token_ids,
                                      int64_t limit, SequencePages& pages) {
  const Found found = Search(name, token_ids, limit);
  const absl::Span<const KvPageGroup> groups = model_.page_groups();
  for (size_t group = 0; group < groups.size(); ++group) {
    // What the window of the first position to compute sees. A copied page that is not made after
    // all leaves the window a little larger than that of the match.
    const int64_t first =
        FirstVisiblePage(groups[group].window, found.page_count * page_size_, page_size_);
    for (int64_t page = 0; page < found.page_count; ++page) {
      pages.table(group).AppendShared(
          page < first ? PageHandle()
                       : groups[group].allocator->Revive(walked_[page]->page_ids[group]));
    }
  }
  int64_t token_count = found.page_count * page_size_;
  if (found.partial_count > 0 && AttachCopy(found, pages)) token_count += found.partial_count;
  pages.ReleaseBefore(token_count);
  if (found.last == nullptr) {
    std::unique_ptr<Node>& root = roots_[name];
    root = std::make_unique<Node>();
    root->name = name;
    return Path(this, root.get(), 0, 0);
  }
  return Path(this, found.last, found.page_count, token_count);
}

bool PrefixCache::AttachCopy(const Found& found, SequencePages& pages) {
  const absl::Span<const KvPageGroup> groups = model_.page_groups();
  std::array<PageHandle, KvLayerGroups::kMaxGroups> sources;  // held, so that they stay
  std::array<PageHandle, KvLayerGroups::kMaxGroups> targets;
  for (size_t group = 0; group < groups.size(); ++group)
    sources[group] = groups[group].allocator->Revive(found.partial->page_ids[group]);
  for (size_t group = 0; group < groups.size(); ++group) {
    absl::StatusOr<PageHandle> target = groups[group].allocator->Allocate();
    if (!target.ok()) return false;
    targets[group] = *std::move(target);
  }
  for (size_t group = 0; group < groups.size(); ++group) {
    model_.CopyPage(static_cast<int64_t>(group), sources[group].page_id(),
                    targets[group].page_id());
    pages.table(group).AppendShared(std::move(targets[group]));
  }
  return true;
}

PrefixCache::Node* PrefixCache::Child(Node& node, absl::Span<const int32_t> tokens) {
  const auto found = node.children.find(tokens);
  if (found != node.children.end()) return found->second.get();
  auto child = std::make_unique<Node>();
  child->parent = &node;
  child->tokens.assign(tokens.begin(), tokens.end());
  const absl::Span<const int32_t> key = child->tokens;
  return node.children.emplace(key, std::move(child)).first->second.get();
}

void PrefixCache::SetPages(Node& node, int64_t page_index, const SequencePages& pages) {
  for (size_t group = 0; group < node_of_page_.size(); ++group) {
    const int32_t page_id = pages.table(group).page_ids()[page_index];
    if (page_id == PageTable::kReleased || node.page_ids[group] != PageTable::kReleased ||
        node_of_page_[group][page_id] != nullptr) {
      continue;
    }
    node.page_ids[group] = page_id;
    node_of_page_[group][page_id] = &node;
    ++page_count_;
    model_.page_groups()[group].allocator->Remember(page_id);
  }
}

void PrefixCache::Insert(Path& path, absl::Span<const int32_t> token_ids, int64_t token_count,
                         const SequencePages& pages) {
  while ((path.page_count_ + 1) * page_size_ <= token_count) {
    Node* const child =
        Child(*path.node_, token_ids.subspan(path.page_count_ * page_size_, page_size_));
    SetPages(*child, path.page_count_, pages);
    path.Move(child);
    ++path.page_count_;
  }
}

void PrefixCache::InsertTail(const Path& path, absl::Span<const int32_t> token_ids,
                             int64_t token_count, const SequencePages& pages) {
  const int64_t begin = path.page_count_ * page_size_;
  if (token_count <= begin || pages.page_count() <= path.page_count_) return;
  const absl::Span<const int32_t> tokens = token_ids.subspan(begin, token_count - begin);
  const auto longer = path.node_->children.lower_bound(tokens);
  if (longer != path.node_->children.end() && HasAllPages(*longer->second) &&
      CommonCount(longer->second->tokens, tokens) == static_cast<int64_t>(tokens.size())) {
    return;  // a page that holds these tokens is known
  }
  Node* const child = Child(*path.node_, tokens);
  SetPages(*child, path.page_count_, pages);
  Prune(child);
}

void PrefixCache::Forget(const SequencePages& pages) {
  for (int64_t group = 0; group < pages.group_count(); ++group) {
    for (const int32_t page_id : pages.table(group).page_ids()) {
      if (page_id == PageTable::kReleased || node_of_page_[group][page_id] == nullptr) continue;
      model_.page_groups()[group].allocator->Forget(page_id);
      ForgetPage(group, page_id);
    }
  }
}

void PrefixCache::ForgetPage(int64_t group, int32_t page_id) {
  Node* const node = std::exchange(node_of_page_[group][page_id], nullptr);
  node->page_ids[group] = PageTable::kReleased;
  --page_count_;
  Prune(node);
}

void PrefixCache::Prune(Node* node) {
  while (node->path_count == 0 && node->children.empty() &&
         std::all_of(node->page_ids.begin(), node->page_ids.end(),
                     [](int32_t page_id) { return page_id == PageTable::kReleased; })) {
    Node* const parent = node->parent;
    if (parent == nullptr) {
      const std::string name = node->name;
      roots_.erase(name);
      return;
    }
    const absl::Span<const int32_t> key = node->tokens;
    parent->children.erase(parent->children.find(key));
    node = parent;
  }
}

}  // namespace phyllo
