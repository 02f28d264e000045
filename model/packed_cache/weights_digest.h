// The digest of a checkpoint's bytes, and the small file that spares the next start its computing.
#ifndef PHYLLO_MODEL_PACKED_CACHE_WEIGHTS_DIGEST_H_
#define PHYLLO_MODEL_PACKED_CACHE_WEIGHTS_DIGEST_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/checkpoint/checkpoint.h"
#include "model/packed_cache/cache_folder.h"

namespace phyllo {

struct WeightsDigestOptions {
  CacheFolder folder = {};  // not enabled: the digest is computed and not kept
  bool verify = false;      // computes it although a file knows it
  // Bytes read and bytes in all; called while computing.
  std::function<void(int64_t done_bytes, int64_t total_bytes)> progress = nullptr;
};

struct WeightsDigest {
  std::string sha256;             // ComputeWeightsDigest's, 64 hexadecimal digits
  bool from_file = false;         // taken from the digest file
  absl::Status file_status = {};  // why the file was not used, or could not be written
};

// The checkpoint's digest: from "STEM.digest" in the folder if that was written for files of the
// same names, sizes, inodes and times of change, else computed and written there. The times are
// the kernel's own (ctime as well as mtime, in nanoseconds): a program that changes a file's bytes
// and sets mtime back is still noticed. Trusted is only that the file system keeps them; a disk
// that returns other bytes than were written is found by `verify` alone. A file that is damaged or
// of another version counts as absent. Several processes may do this at once.
// Trouble with the file is no error, but in file_status.
absl::StatusOr<WeightsDigest> FindWeightsDigest(const Checkpoint& checkpoint,
                                                const WeightsDigestOptions& options);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_PACKED_CACHE_WEIGHTS_DIGEST_H_
