#ifndef VRAMFIT_RECORDER_BLOCK_LISTENER_H
#define VRAMFIT_RECORDER_BLOCK_LISTENER_H

#include "vramfit/vramfit.h"

namespace vramfit::recorder {

void set_block_listener(vramfit_block_listener listener);
vramfit_block_listener block_listener();

}  // namespace vramfit::recorder

#endif
