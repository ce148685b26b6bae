// A shape that the text prints, "torch.Size([30688, 151936])", whose tensor is the one that was asked for.
#ifndef VRAMFIT_DOCTOR_PRINTED_SHAPE_H
#define VRAMFIT_DOCTOR_PRINTED_SHAPE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doctor/scene.h"

namespace vramfit::doctor {

struct PrintedShape {
  model::SourceLine at;
  std::vector<std::int64_t> sizes;
  std::int64_t width = 0;  // bytes an element

  std::string describe() const;  // "30688 x 151936 x 4 bytes = 17.37 GiB"
};

// Finds the shape of a request so large that few shapes print so; none: no printed shape makes it.
std::optional<PrintedShape> find_printed_shape(const Scene& scene);

}  // namespace vramfit::doctor

#endif
