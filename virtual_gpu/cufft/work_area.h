// How large a work area a transform asks for. cuFFT publishes no formula; its documentation says that the area holds
// intermediate results, that transforms which fit one kernel need none, and that lengths with prime factors above 127
// go through Bluestein's algorithm on a longer signal. Noted as assumed.
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
