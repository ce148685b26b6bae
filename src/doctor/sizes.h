// Printed sizes as the doctor weighs and shows them: intervals, never points.
#ifndef VRAMFIT_DOCTOR_SIZES_H
#define VRAMFIT_DOCTOR_SIZES_H

#include <optional>
#include <string>

#include "model/printed_bytes.h"

namespace vramfit::doctor {

using model::Bytes;
using model::PrintedBytes;
using Size = std::optional<PrintedBytes>;

// part / whole by the printed values; 0 where one is missing.
double share(const Size& part, const Size& whole);
double share(Bytes part, Bytes whole);
// "1.50 GiB"; "?" where it is missing.
std::string show(const Size& size);
std::string show(Bytes bytes);
// "37%"
std::string percent(double share);
// The value, or 0 where it is missing.
inline Bytes value_of(const Size& size) { return size ? size->value : Bytes(0); }

// Comparisons that hold for every pair of counts that prints so; false where one is missing.
bool surely_above(const Size& left, const Size& right);
bool surely_below(const Size& left, const Size& right);
// Whether some pair of counts that prints so has left >= right.
bool may_reach(const Size& left, const Size& right);

}  // namespace vramfit::doctor

#endif
