// Communicators: made at once, without a rendezvous. Ranks meet only in small collectives (collectives.cc).
#include "virtual_gpu/nccl/communicator.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>

#include "cuda_facts.h"
#include "virtual_gpu/nccl/exchange.h"

namespace vramfit::nccl {
namespace {

std::mutex error_mutex;
std::string error_text;

}  // namespace

void set_last_error(std::string text) {
  const std::scoped_lock lock(error_mutex);
  error_text = std::move(text);
}

const char* last_error() {
  static thread_local std::string copy;
  const std::scoped_lock lock(error_mutex);
  copy = error_text;
  return copy.c_str();
}

int make(Communicator** out, std::string name, int ranks, int rank) {
  if (out == nullptr) return kInvalidArgument;
  *out = nullptr;
  if (ranks < 1 || rank < 0 || rank >= ranks) {
    set_last_error("rank " + std::to_string(rank) + " of " + std::to_string(ranks) + " does not exist");
    return kInvalidArgument;
  }
  const int card = ledger::current_card();
  if (!ledger::touch(card)) {
    set_last_error("Cuda failure 2 'out of memory'");
    return kUnhandledCudaError;
  }
  const vf_ledger* book = ledger::observe();
  // A communicator of one rank opens no channels.
  const int64_t channels = ranks > 1 && book != nullptr ? book->nccl_channel_bytes : 0;
  if (channels > 0) {
    ledger::note_assumed("NCCL: 9.2 MiB a connection, ring and tree, 2 channels over PCIe, 24 over NVLink");
    if (!ledger::charge_use(card, ledger::Library::kNccl) || !ledger::charge_library(card, channels, "NCCL channels")) {
      set_last_error("Cuda failure 2 'out of memory'");
      return kUnhandledCudaError;
    }
  }
  *out = new Communicator;
  (*out)->name = std::move(name);
  (*out)->ranks = ranks;
  (*out)->rank = rank;
  (*out)->card = card;
  (*out)->channel_bytes = channels;
  introduce(**out);
  return kSuccess;
}

std::string name_of(const UniqueId& id) {
  char text[17];
  const std::string bytes(id.bytes, strnlen(id.bytes, sizeof id.bytes));
  std::snprintf(text, sizeof text, "%016zx", std::hash<std::string>{}(bytes));
  return text;
}

void unmake(Communicator* communicator) {
  if (communicator == nullptr) return;
  if (communicator->channel_bytes > 0) {
    ledger::charge_library(communicator->card, -communicator->channel_bytes, "NCCL channels");
  }
  delete communicator;
}

}  // namespace vramfit::nccl

using vramfit::library::answer;
using vramfit::nccl::Communicator;
using vramfit::nccl::UniqueId;
namespace nccl = vramfit::nccl;
namespace ledger = vramfit::ledger;

VF_ABI int ncclGetVersion(int* version) {
  constexpr auto& kVersion = vramfit::cuda::kNccl;  // 2.21.5 is 22105
  answer(version, kVersion[0] * 10000 + kVersion[1] * 100 + kVersion[2]);
  return version == nullptr ? nccl::kInvalidArgument : nccl::kSuccess;
}

VF_ABI int ncclGetUniqueId(UniqueId* id) {
  static std::atomic<unsigned> count{0};
  if (id == nullptr) return nccl::kInvalidArgument;
  std::memset(id->bytes, 0, sizeof id->bytes);
  std::snprintf(id->bytes, sizeof id->bytes, "vramfit-%d-%u", static_cast<int>(getpid()), count.fetch_add(1));
  return nccl::kSuccess;
}

VF_ABI int ncclCommGetUniqueId(Communicator*, UniqueId* id) { return ncclGetUniqueId(id); }

VF_ABI int ncclCommInitRank(Communicator** out, int ranks, UniqueId id, int rank) {
  return nccl::make(out, nccl::name_of(id), ranks, rank);
}

VF_ABI int ncclCommInitRankConfig(Communicator** out, int ranks, UniqueId id, int rank, void*) {
  return nccl::make(out, nccl::name_of(id), ranks, rank);
}

VF_ABI int ncclCommInitRankScalable(Communicator** out, int ranks, int rank, int, UniqueId* ids, void*) {
  if (ids == nullptr) return nccl::kInvalidArgument;
  return nccl::make(out, nccl::name_of(ids[0]), ranks, rank);
}

VF_ABI int ncclCommInitAll(Communicator** out, int ranks, const int* cards) {
  if (out == nullptr || ranks < 1) return nccl::kInvalidArgument;
  UniqueId id;
  ncclGetUniqueId(&id);
  const int before = ledger::current_card();
  for (int rank = 0; rank < ranks; ++rank) out[rank] = nullptr;
  int result = nccl::kSuccess;
  for (int rank = 0; rank < ranks && result == nccl::kSuccess; ++rank) {
    ledger::set_current_card(cards == nullptr ? rank : cards[rank]);
    result = nccl::make(&out[rank], nccl::name_of(id), ranks, rank);
  }
  ledger::set_current_card(before);
  return result;
}

VF_ABI int ncclCommSplit(Communicator* parent, int color, int key, Communicator** out, void*) {
  if (parent == nullptr || out == nullptr) return nccl::kInvalidArgument;
  *out = nullptr;
  if (color < 0) return nccl::kSuccess;  // NCCL_SPLIT_NOCOLOR: this rank is in no part
  const nccl::Part part = nccl::find_part(*parent, color, key);
  const std::string name = parent->name + "." + std::to_string(parent->splits++) + "." + std::to_string(color);
  return nccl::make(out, name, part.ranks, part.rank);
}

VF_ABI int ncclCommShrink(Communicator* parent, int* ranks_out, int excluded, Communicator** out, void*, int) {
  if (parent == nullptr || out == nullptr || (ranks_out == nullptr && excluded > 0)) return nccl::kInvalidArgument;
  int before = 0;  // excluded ranks below this one: they move it down
  for (int i = 0; i < excluded; ++i) before += ranks_out[i] < parent->rank ? 1 : 0;
  const std::string name = parent->name + ".s" + std::to_string(parent->splits++);
  return nccl::make(out, name, parent->ranks - excluded, parent->rank - before);
}

VF_ABI int ncclCommFinalize(Communicator*) { return nccl::kSuccess; }

VF_ABI int ncclCommDestroy(Communicator* communicator) {
  nccl::unmake(communicator);
  return nccl::kSuccess;
}

VF_ABI int ncclCommAbort(Communicator* communicator) {
  nccl::unmake(communicator);
  return nccl::kSuccess;
}

VF_ABI int ncclCommCount(const Communicator* communicator, int* count) {
  if (communicator == nullptr || count == nullptr) return nccl::kInvalidArgument;
  *count = communicator->ranks;
  return nccl::kSuccess;
}

VF_ABI int ncclCommUserRank(const Communicator* communicator, int* rank) {
  if (communicator == nullptr || rank == nullptr) return nccl::kInvalidArgument;
  *rank = communicator->rank;
  return nccl::kSuccess;
}

VF_ABI int ncclCommCuDevice(const Communicator* communicator, int* card) {
  if (communicator == nullptr || card == nullptr) return nccl::kInvalidArgument;
  *card = communicator->card;
  return nccl::kSuccess;
}

VF_ABI int ncclCommGetAsyncError(Communicator* communicator, int* error) {
  if (communicator == nullptr || error == nullptr) return nccl::kInvalidArgument;
  *error = communicator->failed ? nccl::kSystemError : nccl::kSuccess;
  return nccl::kSuccess;
}

VF_ABI const char* ncclGetErrorString(int result) {
  switch (result) {
    case nccl::kSuccess:
      return "no error";
    case nccl::kUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case nccl::kSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case nccl::kInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case nccl::kInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    default:
      return "unknown result code";
  }
}

VF_ABI const char* ncclGetLastError(const Communicator*) { return nccl::last_error(); }

VF_ABI int ncclMemAlloc(void** out, size_t bytes) {
  if (out == nullptr) return nccl::kInvalidArgument;
  *out = vramfit::device::allocate(ledger::current_card(), bytes);
  if (*out != nullptr) return nccl::kSuccess;
  nccl::set_last_error("Cuda failure 2 'out of memory'");
  return nccl::kUnhandledCudaError;
}

VF_ABI int ncclMemFree(void* address) {
  if (address == nullptr) return nccl::kSuccess;
  return vramfit::device::release(address) ? nccl::kSuccess : nccl::kInvalidArgument;
}

// Registration lets NCCL reach a user's buffer without a copy: it holds no memory of its own.
VF_ABI int ncclCommRegister(const Communicator* communicator, void* buffer, size_t, void** handle) {
  if (communicator == nullptr || handle == nullptr) return nccl::kInvalidArgument;
  *handle = buffer;
  return nccl::kSuccess;
}

VF_ABI int ncclCommDeregister(const Communicator*, void*) { return nccl::kSuccess; }

VF_ABI int ncclCommWindowRegister(Communicator* communicator, void* buffer, size_t, void** window, int) {
  if (communicator == nullptr || window == nullptr) return nccl::kInvalidArgument;
  *window = buffer;
  return nccl::kSuccess;
}

VF_ABI int ncclCommWindowDeregister(Communicator*, void*) { return nccl::kSuccess; }

// Suspending hands the channels' memory back to the card until the communicator is resumed.
VF_ABI int ncclCommSuspend(Communicator* communicator, int) {
  if (communicator == nullptr) return nccl::kInvalidArgument;
  ledger::charge_library(communicator->card, -communicator->channel_bytes, "NCCL channels");
  return nccl::kSuccess;
}

VF_ABI int ncclCommResume(Communicator* communicator) {
  if (communicator == nullptr) return nccl::kInvalidArgument;
  const bool room = ledger::charge_library(communicator->card, communicator->channel_bytes, "NCCL channels");
  return room ? nccl::kSuccess : nccl::kUnhandledCudaError;
}
