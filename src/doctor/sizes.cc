#include "doctor/sizes.h"

#include <fmt/format.h>

namespace vramfit::doctor {

double share(const Size& part, const Size& whole) { return share(value_of(part), value_of(whole)); }

double share(Bytes part, Bytes whole) {
  return whole.count() > 0 ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0;
}

std::string show(const Size& size) { return size ? show(size->value) : "?"; }

std::string show(Bytes bytes) { return bytes.count() < 0 ? "-" + base::to_string(-bytes) : base::to_string(bytes); }

std::string percent(double share) { return fmt::format("{:.0f}%", share * 100); }

bool surely_above(const Size& left, const Size& right) { return left && right && left->low > right->high; }

bool surely_below(const Size& left, const Size& right) { return left && right && left->high < right->low; }

bool may_reach(const Size& left, const Size& right) { return left && right && left->high >= right->low; }

}  // namespace vramfit::doctor
