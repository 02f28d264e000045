#include "model/checkpoint/checkpoint.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/base/digest.h"
#include "model/base/status_macros.h"
#include "model/checkpoint/gguf.h"
#include "model/checkpoint/gguf_files.h"
#include "model/checkpoint/memory_mapped_file.h"
#include "model/checkpoint/safetensors.h"
#include "model/checkpoint/tensor_view.h"

// Invariants: shards_ is sorted by name and never changes after Open, so that the views into its
// maps, and the keys of by_name_, stay valid. A tensor name occurs once in all shards.

namespace phyllo {
namespace {

constexpr absl::string_view kSingleFile = "model.safetensors";
constexpr absl::string_view kIndexFile = "model.safetensors.index.json";
constexpr int64_t kMaxIndexBytes = 100'000'000;

bool Exists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

absl::StatusOr<ShardIndex> ReadIndex(const std::string& directory) {
  PHYLLO_ASSIGN_OR_RETURN(const MemoryMappedFile file,
                          MemoryMappedFile::Open(absl::StrCat(directory, "/", kIndexFile)));
  const absl::Span<const uint8_t> data = file.data();
  if (static_cast<int64_t>(data.size()) > kMaxIndexBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(kIndexFile, ": has ", data.size(), " bytes, more than ", kMaxIndexBytes));
  }
  return ParseShardIndex(absl::string_view(reinterpret_cast<const char*>(data.data()), data.size()),
                         kIndexFile);
}

// The names of the files to open, and what the index says of the tensors (empty for a single file).
struct Layout {
  std::set<std::string> files;
  ShardIndex index;
};

// A single file wins over an index, as in transformers.
absl::StatusOr<Layout> FindLayout(const std::string& directory) {
  Layout layout;
  if (Exists(absl::StrCat(directory, "/", kSingleFile))) {
    layout.files.insert(std::string(kSingleFile));
    return layout;
  }
  if (!Exists(absl::StrCat(directory, "/", kIndexFile))) {
    return absl::NotFoundError(
        absl::StrCat(directory, ": neither ", kSingleFile, " nor ", kIndexFile, " is there"));
  }
  PHYLLO_ASSIGN_OR_RETURN(layout.index, ReadIndex(directory));
  for (const auto& [tensor, shard] : layout.index.weight_map) {
    if (layout.files.insert(shard).second && !Exists(absl::StrCat(directory, "/", shard))) {
      return absl::NotFoundError(absl::StrCat(kIndexFile, ": tensor \"", tensor, "\" is in \"",
                                              shard, "\", which is missing"));
    }
  }
  return layout;
}

// Every tensor of the index must be in its shard, and every tensor of a shard in the index.
absl::Status CheckIndex(const ShardIndex& index,
                        const absl::flat_hash_map<std::string, std::string>& shard_of) {
  if (index.weight_map.empty()) return absl::OkStatus();
  for (const auto& [tensor, shard] : index.weight_map) {
    const auto found = shard_of.find(tensor);
    if (found == shard_of.end() || found->second != shard) {
      return absl::InvalidArgumentError(
          absl::StrCat(kIndexFile, ": tensor \"", tensor, "\" is not in \"", shard, "\""));
    }
  }
  for (const auto& [tensor, shard] : shard_of) {
    if (index.weight_map.count(tensor) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(kIndexFile, ": does not name tensor \"", tensor, "\" of \"", shard, "\""));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Checkpoint::AddShard(std::string name, MemoryMappedFile file,
                                  std::vector<TensorView> views) {
  for (TensorView& view : views) {
    const auto [other, is_new] = shard_of_.emplace(view.name, name);
    if (!is_new) {
      return absl::InvalidArgumentError(absl::StrCat("tensor \"", view.name, "\" is in \"",
                                                     other->second, "\" and in \"", name, "\""));
    }
    total_bytes_ += static_cast<int64_t>(view.data.size());
    tensors_.push_back(std::move(view));
  }
  shards_.push_back({std::move(name), std::move(file)});
  return absl::OkStatus();
}

absl::Status Checkpoint::OpenSafetensors(const std::string& folder) {
  PHYLLO_ASSIGN_OR_RETURN(const Layout layout, FindLayout(folder));
  for (const std::string& name : layout.files) {
    PHYLLO_ASSIGN_OR_RETURN(MemoryMappedFile file,
                            MemoryMappedFile::Open(absl::StrCat(folder, "/", name)));
    PHYLLO_ASSIGN_OR_RETURN(std::vector<TensorView> views, ParseSafetensors(file.data(), name));
    PHYLLO_RETURN_IF_ERROR(AddShard(name, std::move(file), std::move(views)));
  }
  return CheckIndex(layout.index, shard_of_);
}

absl::Status Checkpoint::OpenGguf(absl::Span<const std::string> files) {
  for (const std::string& path : files) {
    const std::string name = path.substr(path.rfind('/') + 1);
    PHYLLO_ASSIGN_OR_RETURN(MemoryMappedFile file, MemoryMappedFile::Open(path));
    PHYLLO_ASSIGN_OR_RETURN(GgufContents contents, ParseGguf(file.data(), name));
    const GgufValue* const split = contents.Find("split.count");
    const int64_t count = split == nullptr || split->integer == 0 ? 1 : split->integer;
    if (count != static_cast<int64_t>(files.size())) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": split.count is ", count, ", but ",
                                                     files.size(), " files belong to its name"));
    }
    PHYLLO_RETURN_IF_ERROR(AddShard(name, std::move(file), std::move(contents.tensors)));
    if (gguf_ == nullptr) gguf_ = std::make_unique<GgufContents>(std::move(contents));
  }
  return absl::OkStatus();
}

void Checkpoint::IndexTensors() {
  std::sort(tensors_.begin(), tensors_.end(),
            [](const TensorView& a, const TensorView& b) { return a.name < b.name; });
  for (int64_t i = 0; i < static_cast<int64_t>(tensors_.size()); ++i)
    by_name_.emplace(tensors_[i].name, i);
}

absl::StatusOr<std::unique_ptr<Checkpoint>> Checkpoint::Open(absl::string_view path) {
  auto checkpoint = absl::WrapUnique(new Checkpoint());
  PHYLLO_ASSIGN_OR_RETURN(const std::vector<std::string> gguf_files, FindGgufFiles(path));
  PHYLLO_RETURN_IF_ERROR(gguf_files.empty() ? checkpoint->OpenSafetensors(std::string(path))
                                            : checkpoint->OpenGguf(gguf_files));
  checkpoint->IndexTensors();
  return checkpoint;
}

const TensorView* Checkpoint::Find(absl::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &tensors_[it->second];
}

void Checkpoint::DropPages() const {
  for (const Shard& shard : shards_) MemoryMappedFile::DropPages(shard.file.data());
}

absl::StatusOr<std::string> ComputeWeightsDigest(
    const Checkpoint& checkpoint,
    const std::function<bool(int64_t done_bytes, int64_t total_bytes)>& progress) {
  constexpr int64_t kPiece = 64 << 20;
  int64_t total = 0;
  for (const Checkpoint::Shard& shard : checkpoint.shards())
    total += static_cast<int64_t>(shard.file.data().size());
  Sha256 digest;
  int64_t done = 0;
  for (const Checkpoint::Shard& shard : checkpoint.shards()) {
    absl::Span<const uint8_t> rest = shard.file.data();
    while (!rest.empty()) {
      const absl::Span<const uint8_t> piece = rest.first(std::min<size_t>(kPiece, rest.size()));
      digest.Update(piece);
      MemoryMappedFile::DropPages(piece);
      rest.remove_prefix(piece.size());
      done += static_cast<int64_t>(piece.size());
      if (progress != nullptr && !progress(done, total))
        return absl::CancelledError("weights digest stopped");
    }
  }
  return digest.FinishHex();
}

}  // namespace phyllo
