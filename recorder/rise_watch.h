// Tells the hooks when more memory is allocated than before, wherever the script is: loops without a model, a loader or
// an optimizer come past no other hook.
//
// PyTorch's allocator must not be called back into Python, nor may its threads: the call waits for the interpreter's
// next turn in the main thread, which comes by the end of the loop's pass at the latest (Py_AddPendingCall).
#ifndef VRAMFIT_RECORDER_RISE_WATCH_H
#define VRAMFIT_RECORDER_RISE_WATCH_H

#include <cstddef>
#include <cstdint>

namespace vramfit::recorder {

// From here on `watch`, a Python callable that lives on, is called once with no arguments when a card has more than
// `bytes` allocated; or more than `late_bytes` after `seconds`. To be asked for again by whoever wants the next one.
// False: this is no Python whose interface is known.
bool watch_rise(void* watch, int64_t bytes, int64_t late_bytes, double seconds);

// Called for every block that is handed out, by whatever thread.
void rises_to(size_t allocated);

}  // namespace vramfit::recorder

#endif
