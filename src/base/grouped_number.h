// 1,234,567
#ifndef VRAMFIT_BASE_GROUPED_NUMBER_H
#define VRAMFIT_BASE_GROUPED_NUMBER_H

#include <cstdint>
#include <string>

namespace vramfit::base {

inline std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

}  // namespace vramfit::base

#endif
