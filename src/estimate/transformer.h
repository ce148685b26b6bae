// The memory of a transformer's parts, in bytes.
#ifndef VRAMFIT_ESTIMATE_TRANSFORMER_H
#define VRAMFIT_ESTIMATE_TRANSFORMER_H

#include "estimate/estimate.h"

namespace vramfit::estimate {

inline double number(std::int64_t count) { return static_cast<double>(count); }

// A double, for sums of products that may leave 64 bits: a wish for a sequence of a million is answered, not wrapped.
struct TransformerBytes {
  double kept = 0;    // by all layers, for backward
  double logits = 0;  // and what the loss makes of them; with checkpointing one layer, if that is more
};

TransformerBytes training_bytes(const model::TransformerShape& shape, const Request& request);

double kv_cache_bytes(const model::TransformerShape& shape, const Request& request);
// The widest moment of reading the whole prompt at once.
double prefill_bytes(const model::TransformerShape& shape, const Request& request);

}  // namespace vramfit::estimate

#endif
