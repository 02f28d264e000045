// Counter-based random numbers: Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel Random
// Numbers: As Easy as 1, 2, 3" (SC 2011, section 3.3 and table 2). A draw is a pure function of
// (seed, choice, position): no state, so that a replayed, preempted or migrated sequence draws the
// same numbers again.
//   const double u = UniformDraw(seed, /*choice=*/0, /*position=*/41);
#ifndef PHYLLO_MODEL_SAMPLING_PHILOX_H_
#define PHYLLO_MODEL_SAMPLING_PHILOX_H_

#include <array>
#include <cstdint>

namespace phyllo {

// Ten rounds of the Philox 4x32 bijection of `counter` under `key`.
constexpr std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter,
                                             std::array<uint32_t, 2> key) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53u;
  constexpr uint64_t kMultiplier1 = 0xCD9E8D57u;
  constexpr uint32_t kWeyl0 = 0x9E3779B9u;  // golden ratio
  constexpr uint32_t kWeyl1 = 0xBB67AE85u;  // sqrt(3) - 1
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

// What a number is drawn for: draws of one token for different ends are independent.
enum class DrawPurpose : uint32_t {
  kToken = 0,  // which of the candidates
  kXtc = 1,    // whether XTC acts
};

// One uniform double in [0, 1), a multiple of 2^-53, for the token sampled at `position` (0-based
// position of the new token in its sequence) of alternative `choice` of a request with `seed`. Key
// = seed; counter = (position, choice, purpose).
constexpr double UniformDraw(uint64_t seed, int32_t choice, int64_t position,
                             DrawPurpose purpose = DrawPurpose::kToken) {
  const auto bits_of_position = static_cast<uint64_t>(position);
  const std::array<uint32_t, 4> words = Philox4x32(
      {static_cast<uint32_t>(bits_of_position), static_cast<uint32_t>(bits_of_position >> 32),
       static_cast<uint32_t>(choice), static_cast<uint32_t>(purpose)},
      {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const uint64_t mantissa = ((static_cast<uint64_t>(words[0]) << 32) | words[1]) >> 11;
  return static_cast<double>(mantissa) * 0x1.0p-53;
}

}  // namespace phyllo

#endif  // PHYLLO_MODEL_SAMPLING_PHILOX_H_
