// Moves a Mersenne Twister forward by any number of draws without drawing them.
//
// Reference: Haramoto, Matsumoto, Nishimura, Panneton, L'Ecuyer, "Efficient Jump Ahead for F2-Linear Random Number
// Generators", INFORMS Journal on Computing 20 (2008): x^J modulo the characteristic polynomial, applied to the state.
#ifndef VRAMFIT_VIRTUAL_GPU_HOST_MERSENNE_H
#define VRAMFIT_VIRTUAL_GPU_HOST_MERSENNE_H

#include <array>
#include <cstdint>

namespace vramfit::host {

inline constexpr int kMersenneWords = 624;

struct Mersenne {
  std::array<uint32_t, kMersenneWords> words{};
  uint32_t used = kMersenneWords;  // draws taken from `words`: 624 = the next draw makes new ones
};

// The state after `draws` more draws of 32 bits. Milliseconds whatever their number; the first long jump takes about
// 30 ms, the first of each length about 5 ms.
void skip(Mersenne& state, uint64_t draws);

}  // namespace vramfit::host

#endif
