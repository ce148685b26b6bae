// What a collective leaves in memory: the real result where every contribution is small enough to be exchanged, else
// the result as if all ranks held the same data. Contents above 1 MiB are not written at all: they read as the zeros
// that every kernel leaves, and cost no host memory.
#include <algorithm>
#include <cstring>
#include <vector>

#include "virtual_gpu/nccl/communicator.h"
#include "virtual_gpu/nccl/element.h"
#include "virtual_gpu/nccl/exchange.h"

namespace vramfit::nccl {
namespace {

constexpr int64_t kWrittenBytes = 1 << 20;

// Ring collectives move about 2 (N-1)/N of the data over each link; 20 GB/s is a link of an 8-card NVLink or a fast
// PCIe host. It only orders events on streams.
int64_t duration_ns(int64_t bytes) { return std::max<int64_t>(device::kKernelNs, bytes / 20); }

constexpr bool is_exchanged(int64_t bytes, int type) {
  constexpr int kUint8 = 1;  // ncclInt8 is 0
  return bytes <= (type <= kUint8 ? kExchangedObjectBytes : kExchangedBytes);
}

struct Shape {
  int64_t count = 0;  // elements of one contribution
  int type = 0;
  int64_t bytes = 0;  // of one contribution
  bool valid = false;
};

// What every collective must have: a communicator, a type NCCL knows.
Shape shape_of(const Communicator* communicator, size_t count, int type) {
  const int64_t element = bytes_of(type);
  if (communicator == nullptr || element == 0) {
    set_last_error(communicator == nullptr ? "communicator is null" : "unknown data type " + std::to_string(type));
    return {};
  }
  return {static_cast<int64_t>(count), type, static_cast<int64_t>(count) * element, true};
}

// Like `shape_of`, for a call with a root or a peer, a rank that must exist.
Shape shape_of(const Communicator* communicator, size_t count, int type, int rank) {
  if (communicator != nullptr && (rank < 0 || rank >= communicator->ranks)) {
    set_last_error("rank " + std::to_string(rank) + " of " + std::to_string(communicator->ranks) + " does not exist");
    return {};
  }
  return shape_of(communicator, count, type);
}

void write(void* to, const void* from, int64_t bytes) {
  if (to != from && bytes > 0) device::copy(to, from, static_cast<size_t>(bytes));
}

// Every rank's contribution in rank order: exchanged, or this rank's own in place of those that are not known.
std::vector<std::string> contributions(Communicator& communicator, uint64_t call, const std::string& mine, int type) {
  std::vector<std::string> all;
  for (int rank = 0; rank < communicator.ranks; ++rank) {
    std::optional<std::string> part;
    if (rank != communicator.rank && is_exchanged(static_cast<int64_t>(mine.size()), type)) {
      part = fetch_part(communicator, call, rank);
    }
    if (part && part->size() == mine.size()) {
      all.push_back(std::move(*part));
    } else {
      all.push_back(mine);
    }
  }
  return all;
}

std::string reduce(const std::vector<std::string>& parts, const Shape& shape, int operation) {
  std::string result = parts.front();
  for (size_t rank = 1; rank < parts.size(); ++rank) {
    combine(result.data(), parts[rank].data(), shape.count, shape.type, operation);
  }
  if (operation == kAverage) finish_average(result.data(), shape.count, shape.type, static_cast<int>(parts.size()));
  return result;
}

// Exchanges `bytes` at `from` among all ranks and hands the parts to `use`. Nothing happens for contents too large.
template <typename Use>
void with_all(Communicator& communicator, const void* from, int64_t bytes, int type, Use use) {
  const uint64_t call = communicator.collectives++;
  if (bytes > kWrittenBytes) return;
  std::string mine(static_cast<const char*>(from), static_cast<size_t>(bytes));  // a device address is a host address
  if (is_exchanged(bytes, type) && communicator.ranks > 1) post_part(communicator, call, mine.data(), bytes);
  run_in_order(
      [&communicator, call, type, mine = std::move(mine), use] { use(contributions(communicator, call, mine, type)); });
}

int finish(void* stream, int64_t bytes) {
  device::enqueue(stream, duration_ns(bytes));
  return kSuccess;
}

}  // namespace
}  // namespace vramfit::nccl

using vramfit::library::Stream;
using vramfit::nccl::Communicator;
using vramfit::nccl::Shape;
using Parts = std::vector<std::string>;
namespace nccl = vramfit::nccl;

VF_ABI int ncclGroupStart() {
  nccl::begin_group();
  return nccl::kSuccess;
}

VF_ABI int ncclGroupEnd() {
  nccl::end_group();
  return nccl::kSuccess;
}

VF_ABI int ncclAllReduce(const void* from, void* to, size_t count, int type, int operation, Communicator* communicator,
                         Stream stream) {
  const Shape shape = nccl::shape_of(communicator, count, type);
  if (!shape.valid) return nccl::kInvalidArgument;
  nccl::with_all(*communicator, from, shape.bytes, type, [=](const Parts& parts) {
    nccl::write(to, nccl::reduce(parts, shape, operation).data(), shape.bytes);
  });
  return nccl::finish(stream, 2 * shape.bytes);
}

VF_ABI int ncclReduce(const void* from, void* to, size_t count, int type, int operation, int root,
                      Communicator* communicator, Stream stream) {
  const Shape shape = nccl::shape_of(communicator, count, type, root);
  if (!shape.valid) return nccl::kInvalidArgument;
  nccl::with_all(*communicator, from, shape.bytes, type, [=](const Parts& parts) {
    if (communicator->rank == root) nccl::write(to, nccl::reduce(parts, shape, operation).data(), shape.bytes);
  });
  return nccl::finish(stream, shape.bytes);
}

VF_ABI int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, Communicator* communicator,
                         Stream stream) {
  const Shape shape = nccl::shape_of(communicator, count, type, root);
  if (!shape.valid) return nccl::kInvalidArgument;
  const uint64_t call = communicator->collectives++;
  const bool small = nccl::is_exchanged(shape.bytes, type) && communicator->ranks > 1;
  if (communicator->rank == root) {
    if (small) nccl::post_part(*communicator, call, from, shape.bytes);
    if (shape.bytes <= nccl::kWrittenBytes) nccl::write(to, from, shape.bytes);
  } else if (small) {
    nccl::run_in_order([=] {
      const auto part = nccl::fetch_part(*communicator, call, root);
      if (part && static_cast<int64_t>(part->size()) == shape.bytes) nccl::write(to, part->data(), shape.bytes);
    });
  }
  return nccl::finish(stream, shape.bytes);
}

VF_ABI int ncclBcast(void* data, size_t count, int type, int root, Communicator* communicator, Stream stream) {
  return ncclBroadcast(data, data, count, type, root, communicator, stream);
}

VF_ABI int ncclAllGather(const void* from, void* to, size_t count, int type, Communicator* communicator,
                         Stream stream) {
  const Shape shape = nccl::shape_of(communicator, count, type);
  if (!shape.valid) return nccl::kInvalidArgument;
  nccl::with_all(*communicator, from, shape.bytes, type, [=](const Parts& parts) {
    if (shape.bytes * communicator->ranks > nccl::kWrittenBytes) return;
    for (int rank = 0; rank < communicator->ranks; ++rank) {
      nccl::write(static_cast<char*>(to) + rank * shape.bytes, parts[static_cast<size_t>(rank)].data(), shape.bytes);
    }
  });
  return nccl::finish(stream, shape.bytes * communicator->ranks);
}

VF_ABI int ncclReduceScatter(const void* from, void* to, size_t count, int type, int operation,
                             Communicator* communicator, Stream stream) {
  const Shape shape = nccl::shape_of(communicator, count, type);
  if (!shape.valid) return nccl::kInvalidArgument;
  const Shape whole = nccl::shape_of(communicator, count * static_cast<size_t>(communicator->ranks), type);
  nccl::with_all(*communicator, from, whole.bytes, type, [=](const Parts& parts) {
    const std::string sum = nccl::reduce(parts, whole, operation);
    nccl::write(to, sum.data() + communicator->rank * shape.bytes, shape.bytes);
  });
  return nccl::finish(stream, whole.bytes);
}

VF_ABI int ncclAlltoAll(const void* from, void* to, size_t count, int type, Communicator* communicator, Stream stream) {
  const Shape shape = nccl::shape_of(communicator, count, type);
  if (!shape.valid) return nccl::kInvalidArgument;
  const int64_t whole = shape.bytes * communicator->ranks;
  nccl::with_all(*communicator, from, whole, type, [=](const Parts& parts) {
    for (int rank = 0; rank < communicator->ranks; ++rank) {
      const char* sent = parts[static_cast<size_t>(rank)].data() + communicator->rank * shape.bytes;
      nccl::write(static_cast<char*>(to) + rank * shape.bytes, sent, shape.bytes);
    }
  });
  return nccl::finish(stream, whole);
}

VF_ABI int ncclGather(const void* from, void* to, size_t count, int type, int root, Communicator* communicator,
                      Stream stream) {
  const Shape shape = nccl::shape_of(communicator, count, type, root);
  if (!shape.valid) return nccl::kInvalidArgument;
  nccl::with_all(*communicator, from, shape.bytes, type, [=](const Parts& parts) {
    if (communicator->rank != root || shape.bytes * communicator->ranks > nccl::kWrittenBytes) return;
    for (int rank = 0; rank < communicator->ranks; ++rank) {
      nccl::write(static_cast<char*>(to) + rank * shape.bytes, parts[static_cast<size_t>(rank)].data(), shape.bytes);
    }
  });
  return nccl::finish(stream, shape.bytes * communicator->ranks);
}

VF_ABI int ncclScatter(const void* from, void* to, size_t count, int type, int root, Communicator* communicator,
                       Stream stream) {
  const Shape shape = nccl::shape_of(communicator, count, type, root);
  if (!shape.valid) return nccl::kInvalidArgument;
  const int64_t whole = shape.bytes * communicator->ranks;
  const uint64_t call = communicator->collectives++;
  if (nccl::is_exchanged(whole, type)) {
    if (communicator->rank == root) nccl::post_part(*communicator, call, from, whole);
    nccl::run_in_order([=] {
      const auto part = nccl::fetch_part(*communicator, call, root);
      if (part && static_cast<int64_t>(part->size()) == whole) {
        nccl::write(to, part->data() + communicator->rank * shape.bytes, shape.bytes);
      }
    });
  } else if (communicator->rank == root && shape.bytes <= nccl::kWrittenBytes) {
    nccl::write(to, static_cast<const char*>(from) + root * shape.bytes, shape.bytes);
  }
  return nccl::finish(stream, whole);
}

VF_ABI int ncclSend(const void* from, size_t count, int type, int peer, Communicator* communicator, Stream stream) {
  const Shape shape = nccl::shape_of(communicator, count, type, peer);
  if (!shape.valid) return nccl::kInvalidArgument;
  if (nccl::is_exchanged(shape.bytes, type)) nccl::post_message(*communicator, peer, from, shape.bytes);
  return nccl::finish(stream, shape.bytes);
}

VF_ABI int ncclRecv(void* to, size_t count, int type, int peer, Communicator* communicator, Stream stream) {
  const Shape shape = nccl::shape_of(communicator, count, type, peer);
  if (!shape.valid) return nccl::kInvalidArgument;
  if (nccl::is_exchanged(shape.bytes, type)) {
    nccl::run_in_order([=, message = nccl::expect_message(*communicator, peer)] {
      const auto bytes = message();
      if (bytes && static_cast<int64_t>(bytes->size()) == shape.bytes) nccl::write(to, bytes->data(), shape.bytes);
    });
  } else {
    vramfit::ledger::note_assumed("ncclRecv: contents above 64 KiB are not carried from rank to rank");
  }
  return nccl::finish(stream, shape.bytes);
}

// A reduction that scales first: numbered above the built-in ones, computed as a plain sum.
VF_ABI int ncclRedOpCreatePreMulSum(int* operation, void*, int, int, Communicator*) {
  constexpr int kFirstOfTheUsers = 5;  // ncclNumOps
  if (operation == nullptr) return nccl::kInvalidArgument;
  *operation = kFirstOfTheUsers;
  vramfit::ledger::note_assumed("ncclRedOpCreatePreMulSum: values are summed without the factor");
  return nccl::kSuccess;
}

VF_ABI int ncclRedOpDestroy(int, Communicator*) { return nccl::kSuccess; }
