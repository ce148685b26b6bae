// How ranks learn what the others contributed to a small collective, and when that is waited for.
//
//   rank 0   all-gather #7   post(mine)          fetch(0) fetch(1) fetch(2)
//   rank 1   all-gather #7   post(mine)          fetch(0) fetch(1) fetch(2)
//                            at once             at once, or at ncclGroupEnd inside a group
//
// A real collective makes the stream wait; here the host does, which PyTorch's own order of calls allows as long as a
// group's messages are all posted before any is fetched.
#ifndef VRAMFIT_VIRTUAL_GPU_NCCL_EXCHANGE_H
#define VRAMFIT_VIRTUAL_GPU_NCCL_EXCHANGE_H

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "virtual_gpu/nccl/communicator.h"

namespace vramfit::nccl {

// Contributions up to this are exchanged; larger ones are taken to be equal on all ranks, for speed.
inline constexpr int64_t kExchangedBytes = 64 << 10;
// Byte tensors carry pickled objects (c10d's object collectives), which nobody can read in part.
inline constexpr int64_t kExchangedObjectBytes = 1 << 20;

// Runs `work` now, or when the outermost group of this thread ends.
void run_in_order(std::function<void()> work);
void begin_group();
void end_group();

// Posts this rank's part of the communicator's collective number `call`.
void post_part(Communicator& communicator, uint64_t call, const void* data, int64_t bytes);
// Tells the other ranks which process this rank is, so that they know whether it still lives.
void introduce(const Communicator& communicator);
// The part of `rank`, which is waited for while its process lives, however slow the machine is, up to NCCL's own limit.
// Nothing when it has gone, or when the limit passed (the communicator has then failed, as PyTorch's watchdog will
// see): the session is told, and nobody is waited for again.
std::optional<std::string> fetch_part(Communicator& communicator, uint64_t call, int rank);

void post_message(Communicator& communicator, int to, const void* data, int64_t bytes);
// Takes the number of the next message at once; the message itself when the returned function is called.
std::function<std::optional<std::string>()> expect_message(Communicator& communicator, int from);

struct Part {
  int ranks = 1;
  int rank = 0;
};
// ncclCommSplit: how many ranks chose `color`, and this rank's place among them by key.
Part find_part(Communicator& parent, int color, int key);

}  // namespace vramfit::nccl

#endif
