#include "virtual_gpu/nccl/element.h"

#include <algorithm>
#include <bit>

#include "virtual_gpu/nccl/communicator.h"

namespace vramfit::nccl {
namespace {

struct Brain16 {
  uint16_t bits = 0;
  Brain16() = default;
  explicit Brain16(float value) : bits(static_cast<uint16_t>((std::bit_cast<uint32_t>(value) + 0x8000u) >> 16)) {}
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

// 16-bit floats are combined in single precision, as NCCL's kernels do.
template <typename T>
struct Wide {
  using type = T;
};
template <>
struct Wide<Brain16> {
  using type = float;
};
template <>
struct Wide<_Float16> {
  using type = float;
};

template <typename T>
T apply(int operation, T a, T b) {
  switch (operation) {
    case kProduct:
      return static_cast<T>(a * b);
    case kMax:
      return std::max(a, b);
    case kMin:
      return std::min(a, b);
    default:
      return static_cast<T>(a + b);
  }
}

template <typename T>
void combine_as(void* into, const void* from, int64_t count, int operation) {
  using W = typename Wide<T>::type;
  auto* to = static_cast<T*>(into);
  const auto* other = static_cast<const T*>(from);
  for (int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<T>(apply(operation, static_cast<W>(to[i]), static_cast<W>(other[i])));
  }
}

template <typename T>
void divide_as(void* values, int64_t count, int ranks) {
  using W = typename Wide<T>::type;
  auto* to = static_cast<T*>(values);
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(static_cast<W>(to[i]) / static_cast<W>(ranks));
}

// Calls `work` with a value of the C++ type that stands for an ncclDataType_t.
template <typename Work>
void with_type(int type, Work work) {
  switch (type) {
    case 0:
      return work(int8_t{});
    case 1:
      return work(uint8_t{});
    case 2:
      return work(int32_t{});
    case 3:
      return work(uint32_t{});
    case 4:
      return work(int64_t{});
    case 5:
      return work(uint64_t{});
    case 6:
      return work(_Float16{});
    case 7:
      return work(float{});
    case 8:
      return work(double{});
    case 9:
      return work(Brain16{});
    default:
      return;
  }
}

}  // namespace

int64_t bytes_of(int type) {
  // Int8, Uint8, Int32, Uint32, Int64, Uint64, Float16, Float32, Float64, Bfloat16, Float8e4m3, Float8e5m2
  constexpr int64_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type >= 0 && type < 12 ? kBytes[type] : 0;
}

void combine(void* into, const void* from, int64_t count, int type, int operation) {
  with_type(type, [&](auto element) { combine_as<decltype(element)>(into, from, count, operation); });
}

void finish_average(void* values, int64_t count, int type, int ranks) {
  with_type(type, [&](auto element) { divide_as<decltype(element)>(values, count, ranks); });
}

}  // namespace vramfit::nccl
