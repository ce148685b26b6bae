// What a verdict comes down to, as the sign before it on a terminal and the color of a page.
#ifndef VRAMFIT_REPORT_MARK_H
#define VRAMFIT_REPORT_MARK_H

#include <array>
#include <cstddef>
#include <string_view>

namespace vramfit::report {

enum class Mark {
  kGood,
  kUnsure,
  kBad,
  kUnknown,
  kNoCard,  // nothing used one
  kOther    // it is about something else
};

constexpr std::string_view sign(Mark mark) {
  constexpr std::array<std::string_view, 6> kSigns = {"[✓]", "[!]", "[✗]", "[?]", "[-]", "[–]"};
  return kSigns[static_cast<std::size_t>(mark)];
}

}  // namespace vramfit::report

#endif
