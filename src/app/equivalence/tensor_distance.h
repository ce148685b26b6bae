// How far the tensors of one run are from those of another, as shares of their size.
#ifndef VRAMFIT_APP_EQUIVALENCE_TENSOR_DISTANCE_H
#define VRAMFIT_APP_EQUIVALENCE_TENSOR_DISTANCE_H

#include <map>
#include <string>
#include <vector>

#include "facts/training_record.h"

namespace vramfit::app {

// The numbers of a tensor that are looked at.
using Mask = std::map<std::string, std::vector<bool>>;

struct TensorDistance {
  double whole = 0;           // of all tensors together: |with - without| / |without|
  double worst = 0;           // of one tensor that is not negligible beside the others
  std::string at;             // its name
  double scale = 1;           // with = scale x without, as near as may be
  double beyond = 0;          // what is left then, as a share
  std::size_t looked_at = 0;  // tensors
  std::size_t differing = 0;  // of these, by more than `share`
};

// Compares the tensors that both have in the same size. An empty mask looks at everything; `share` is what counts as
// differing.
TensorDistance measure_distance(const facts::Tensors& without, const facts::Tensors& with, const Mask& mask,
                                double share);

// Selects in each tensor the numbers whose gradient is at least `floor` of the tensor's root mean square: the update of
// those below is decided by rounding, which Adam and its like make as large as any. A tensor whose gradients are next
// to nothing has none.
Mask find_telling(const facts::Tensors& gradients, double floor);

// The name of a tensor that holds infinity or no number. Empty: there is none.
std::string find_not_finite(const facts::Tensors& tensors);

bool are_zero(const facts::Tensors& tensors);

}  // namespace vramfit::app

#endif
