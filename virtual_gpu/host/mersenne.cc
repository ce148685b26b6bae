#include "virtual_gpu/host/mersenne.h"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace vramfit::host {
namespace {

constexpr int kDegree = 19937;                         // of the characteristic polynomial
constexpr int kPolynomialWords = (kDegree + 64) / 64;  // bits 0 to kDegree
constexpr int kShift = 397;
constexpr uint64_t kWorthJumping = 2000;  // blocks of 624; fewer are made one by one

using Polynomial = std::array<uint64_t, kPolynomialWords>;
using Square = std::array<uint64_t, 2 * kPolynomialWords + 1>;

uint32_t next_word(uint32_t first, uint32_t second, uint32_t shifted) {
  const uint32_t mixed = (first & 0x80000000u) | (second & 0x7fffffffu);
  return shifted ^ (mixed >> 1) ^ ((mixed & 1) != 0 ? 0x9908b0dfu : 0u);
}

void next_block(std::array<uint32_t, kMersenneWords>& words) {
  for (int i = 0; i < kMersenneWords; ++i)
    words[i] = next_word(words[i], words[(i + 1) % kMersenneWords], words[(i + kShift) % kMersenneWords]);
}

// `count` words of the sequence that begins with the state.
std::vector<uint32_t> sequence(const std::array<uint32_t, kMersenneWords>& words, size_t count) {
  std::vector<uint32_t> all(words.begin(), words.end());
  all.reserve(count);
  while (all.size() < count) {
    const size_t i = all.size() - kMersenneWords;
    all.push_back(next_word(all[i], all[i + 1], all[i + kShift]));
  }
  return all;
}

bool bit(const uint64_t* words, int index) { return (words[index / 64] >> (index % 64) & 1) != 0; }

void xor_shifted(Polynomial& to, const Polynomial& from, int by) {
  const int whole = by / 64;
  const int part = by % 64;
  for (int i = kPolynomialWords - 1; i >= whole; --i) {
    uint64_t word = from[i - whole] << part;
    if (part != 0 && i > whole) word |= from[i - whole - 1] >> (64 - part);
    to[i] ^= word;
  }
}

// Berlekamp-Massey over one bit of the sequence: the shortest recurrence that makes it is the state's own.
Polynomial find_recurrence() {
  std::array<uint32_t, kMersenneWords> words{};
  for (uint32_t i = 0; i < kMersenneWords; ++i) words[i] = 1812433253u * (i + 1) ^ (i << 7);
  const std::vector<uint32_t> all = sequence(words, kMersenneWords + 2 * kDegree + 2);
  Polynomial now{1}, before{1}, recent{};
  int length = 0, since = 1;
  for (int n = 0; n < 2 * kDegree; ++n) {
    for (int i = kPolynomialWords - 1; i > 0; --i) recent[i] = recent[i] << 1 | recent[i - 1] >> 63;
    recent[0] = recent[0] << 1 | (all[static_cast<size_t>(n) + kMersenneWords] & 1);
    uint64_t sum = 0;
    for (int i = 0; i < kPolynomialWords; ++i) sum ^= now[i] & recent[i];
    if (std::popcount(sum) % 2 == 0) {
      ++since;
      continue;
    }
    const Polynomial old = now;
    xor_shifted(now, before, since);
    if (2 * length <= n) {
      length = n + 1 - length;
      before = old;
      since = 1;
    } else {
      ++since;
    }
  }
  return now;
}

// The exponents below kDegree of the characteristic polynomial.
const std::vector<int>& exponents() {
  static const std::vector<int> kExponents = [] {
    const Polynomial recurrence = find_recurrence();
    std::vector<int> found;
    for (int i = 1; i <= kDegree; ++i) {
      if (bit(recurrence.data(), i)) found.push_back(kDegree - i);
    }
    return found;
  }();
  return kExponents;
}

void add_shifted(Square& to, uint64_t word, int position) {
  to[position / 64] ^= word << (position % 64);
  if (position % 64 != 0) to[position / 64 + 1] ^= word >> (64 - position % 64);
}

Polynomial reduce(Square value) {
  constexpr int kFirst = kDegree / 64;
  constexpr int kOffset = kDegree % 64;
  for (int i = 2 * kPolynomialWords - 1; i >= kFirst; --i) {
    const uint64_t mask = i == kFirst ? ~uint64_t{0} << kOffset : ~uint64_t{0};
    while (const uint64_t high = value[i] & mask) {
      value[i] ^= high;
      for (const int exponent : exponents()) {
        if (i == kFirst) {
          add_shifted(value, high >> kOffset, exponent);
        } else {
          add_shifted(value, high, i * 64 - kDegree + exponent);
        }
      }
    }
  }
  Polynomial reduced{};
  std::copy_n(value.begin(), kPolynomialWords, reduced.begin());
  return reduced;
}

uint64_t spread(uint32_t half) {  // a zero after every bit
  uint64_t word = half;
  word = (word | word << 16) & 0x0000ffff0000ffffull;
  word = (word | word << 8) & 0x00ff00ff00ff00ffull;
  word = (word | word << 4) & 0x0f0f0f0f0f0f0f0full;
  word = (word | word << 2) & 0x3333333333333333ull;
  return (word | word << 1) & 0x5555555555555555ull;
}

// x^power modulo the characteristic polynomial.
Polynomial power_of_x(uint64_t power) {
  Polynomial value{1};
  for (int i = 63 - std::countl_zero(power | 1); i >= 0; --i) {
    Square square{};
    for (int j = 0; j < kPolynomialWords; ++j) {
      square[2 * j] = spread(static_cast<uint32_t>(value[j]));
      square[2 * j + 1] = spread(static_cast<uint32_t>(value[j] >> 32));
    }
    if ((power >> i & 1) != 0) {
      for (int j = 2 * kPolynomialWords - 1; j > 0; --j) square[j] = square[j] << 1 | square[j - 1] >> 63;
      square[0] <<= 1;
    }
    value = reduce(square);
  }
  return value;
}

// Models repeat the sizes of their layers.
const Polynomial& remembered_power(uint64_t power) {
  static std::mutex lock;
  static auto* const kKnown = new std::map<uint64_t, std::unique_ptr<Polynomial>>;  // outlives destructors
  const std::lock_guard guard(lock);
  std::unique_ptr<Polynomial>& known = (*kKnown)[power];
  if (known == nullptr) known = std::make_unique<Polynomial>(power_of_x(power));
  return *known;
}

void jump(std::array<uint32_t, kMersenneWords>& words, uint64_t blocks) {
  next_block(words);  // of a seeded state, 31 bits belong to no sequence
  const Polynomial& power = remembered_power((blocks - 1) * kMersenneWords);
  const std::vector<uint32_t> all = sequence(words, kDegree + kMersenneWords);
  std::array<uint32_t, kMersenneWords> sum{};
  for (int i = 0; i < kDegree; ++i) {
    if (!bit(power.data(), i)) continue;
    for (int j = 0; j < kMersenneWords; ++j) sum[j] ^= all[static_cast<size_t>(i) + static_cast<size_t>(j)];
  }
  words = sum;
}

}  // namespace

void skip(Mersenne& state, uint64_t draws) {
  const uint64_t position = state.used + draws;
  if (draws == 0) return;
  const uint64_t blocks = (position - 1) / kMersenneWords;
  state.used = static_cast<uint32_t>(position - blocks * kMersenneWords);
  if (blocks > kWorthJumping) return jump(state.words, blocks);
  for (uint64_t i = 0; i < blocks; ++i) next_block(state.words);
}

}  // namespace vramfit::host
