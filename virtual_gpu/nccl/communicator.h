// What an NCCL communicator keeps, and NCCL's numbers (nccl.h of 2.29).
#ifndef VRAMFIT_VIRTUAL_GPU_NCCL_COMMUNICATOR_H
#define VRAMFIT_VIRTUAL_GPU_NCCL_COMMUNICATOR_H

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "virtual_gpu/library/abi.h"
#include "virtual_gpu/library/work.h"

namespace vramfit::nccl {

enum Result : int { kSuccess = 0, kUnhandledCudaError = 1, kSystemError = 2, kInternalError = 3, kInvalidArgument = 4 };
enum Operation : int { kSum = 0, kProduct = 1, kMax = 2, kMin = 3, kAverage = 4 };

struct UniqueId {
  char bytes[128];
};

struct Communicator {
  std::string name;  // the same on every rank: starts the keys of its messages
  int ranks = 1;
  int rank = 0;
  int card = 0;                  // ordinal of the card it was made on
  int64_t channel_bytes = 0;     // charged to that card while the communicator lives
  uint64_t collectives = 0;      // how many have been called on this rank: the same number on all for the same call
  std::map<int, uint64_t> sent;  // messages to each rank
  std::map<int, uint64_t> received;
  int splits = 0;
  bool peer_left = false;  // a peer has gone: no longer wait for anybody
  bool failed = false;     // a peer that lives did not come: what NCCL calls a timeout
};

// Makes a communicator on the calling thread's card and charges NCCL's channel buffers to it.
int make(Communicator** out, std::string name, int ranks, int rank);
// Gives the channels back and deletes it. Null is fine, as in NCCL.
void unmake(Communicator* communicator);
// The name all ranks that were given this id agree on.
std::string name_of(const UniqueId& id);

// The message of the last failed call of this process, for ncclGetLastError.
void set_last_error(std::string text);
const char* last_error();

}  // namespace vramfit::nccl

#endif
