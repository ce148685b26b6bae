// The lines by which other programs' memory errors and dumps are known.
#ifndef VRAMFIT_INGEST_TEXT_FOREIGN_SHAPES_H
#define VRAMFIT_INGEST_TEXT_FOREIGN_SHAPES_H

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "model/other_programs.h"

namespace vramfit::ingest {

// A size behind `label`, kept as `name`. `unit` is of a number without one; 0: such a number is none.
struct ForeignSize {
  std::string_view label, name;
  std::int64_t unit = 0;
};
struct ForeignNumber {
  std::string_view label, name;
};

// Lines that are known by `words` (all lower case). Fields whose label is empty are unused.
struct ForeignShape {
  std::string_view words, program;
  model::ForeignKind kind = model::ForeignKind::kOutOfMemory;
  std::array<ForeignSize, 5> sizes{};
  std::array<ForeignNumber, 3> numbers{};
};

// The shapes in the order in which they are tried: the first that fits is meant.
std::span<const ForeignShape> foreign_shapes();

}  // namespace vramfit::ingest

#endif
