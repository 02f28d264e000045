// main() of a cc_fuzz_test in builds without libFuzzer: runs the target on every corpus file named
// on the command line, on evenly spaced prefixes of it and on mutants with one to four changed
// bytes. The choice of mutants depends on the file's bytes only, so a failure repeats. A target
// reports a failure by crashing.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kPrefixesPerFile = 128;
constexpr size_t kMutantsPerFile = 256;

using Bytes = std::vector<uint8_t>;

// An exactly sized heap copy, so that a read past the end is one that AddressSanitizer sees.
void RunOne(const Bytes& input, size_t size) {
  const Bytes copy(input.begin(), input.begin() + static_cast<ptrdiff_t>(size));
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

// splitmix64 (Steele, Lea, Flood 2014).
uint64_t NextRandom(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void RunPrefixes(const Bytes& input) {
  const size_t count = std::min(kPrefixesPerFile, input.size());
  for (size_t i = 0; i < count; ++i) {
    RunOne(input, input.size() * i / count);
  }
}

void RunMutants(const Bytes& input) {
  if (input.empty()) {
    return;
  }
  uint64_t state = input.size();
  for (size_t i = 0; i < kMutantsPerFile; ++i) {
    Bytes mutant = input;
    const uint64_t changes = 1 + NextRandom(state) % 4;
    for (uint64_t change = 0; change < changes; ++change) {
      mutant[NextRandom(state) % mutant.size()] = static_cast<uint8_t>(NextRandom(state));
    }
    RunOne(mutant, mutant.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "no corpus file given\n");
    return 1;
  }
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot open %s\n", argv[i]);
      return 1;
    }
    const Bytes input((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::fprintf(stderr, "%s: %zu bytes\n", argv[i], input.size());
    RunOne(input, input.size());
    RunPrefixes(input);
    RunMutants(input);
  }
  std::fprintf(stderr, "replayed %d corpus files\n", argc - 1);
  return 0;
}
