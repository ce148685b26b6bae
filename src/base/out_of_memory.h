// Whether a message says that memory ran out, as PyTorch, CUDA, HIP and their libraries word it. What a reader counts
// beside these words (a sentence of one library, what people write in forums) it keeps with itself.
#ifndef VRAMFIT_BASE_OUT_OF_MEMORY_H
#define VRAMFIT_BASE_OUT_OF_MEMORY_H

#include <string_view>

namespace vramfit::base {

// Letters' case does not matter. `message`: an error's name, its code or its text.
bool says_out_of_memory(std::string_view message);

}  // namespace vramfit::base

#endif
