// How large a work area a transform asks for. cuFFT publishes no formula; these agree with what cuFFT 12.0.0 asked for
// on an H200 in complex64 (fixtures/real_cards/cufft_work_areas.csv, scored by bench/workspaces/run), but for a real
// signal of 1000. Double precision, real outputs, other releases and cards, and lengths between those measured are
// assumed to follow the same, and noted.
#ifndef VRAMFIT_VIRTUAL_GPU_CUFFT_WORK_AREA_H
#define VRAMFIT_VIRTUAL_GPU_CUFFT_WORK_AREA_H

#include <cstdint>
#include <vector>

namespace vramfit::cufft {

// lengths: of each dimension, slowest first. complex_bytes: of one complex element. is_real: one side is real, so the
// fastest dimension has n / 2 + 1 complex elements.
int64_t work_bytes(const std::vector<int64_t>& lengths, int64_t batch, int64_t complex_bytes, bool is_real);

}  // namespace vramfit::cufft

#endif
