#include "virtual_gpu/host/mersenne.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

namespace vramfit::host {
namespace {

uint32_t tempered(uint32_t word) {
  word ^= word >> 11;
  word ^= word << 7 & 0x9d2c5680u;
  word ^= word << 15 & 0xefc60000u;
  return word ^ word >> 18;
}

uint32_t draw(Mersenne& state) {
  skip(state, 1);
  return tempered(state.words[state.used - 1]);
}

Mersenne seeded(uint32_t seed) {
  Mersenne state;
  state.words[0] = seed;
  for (uint32_t i = 1; i < kMersenneWords; ++i)
    state.words[i] = 1812433253u * (state.words[i - 1] ^ state.words[i - 1] >> 30) + i;
  return state;
}

// The standard's own generator is the reference.
TEST(MersenneTest, skipping_is_drawing) {
  for (const uint64_t draws :
       {0ull, 1ull, 623ull, 624ull, 625ull, 100'000ull, 1'248'000ull, 1'248'001ull, 5'000'000ull, 123'456'789ull}) {
    std::mt19937 reference(42);
    Mersenne state = seeded(42);
    reference.discard(draws);
    skip(state, draws);
    for (int i = 0; i < 1300; ++i) ASSERT_EQ(draw(state), reference()) << draws << " draws, then " << i;
  }
}

TEST(MersenneTest, skips_add_up_beyond_what_can_be_drawn) {
  Mersenne once = seeded(7);
  Mersenne twice = seeded(7);
  skip(once, 300'000'000'000ull);
  skip(twice, 123'456'789'012ull);
  skip(twice, 300'000'000'000ull - 123'456'789'012ull);
  for (int i = 0; i < 1300; ++i) ASSERT_EQ(draw(once), draw(twice));
}

}  // namespace
}  // namespace vramfit::host
