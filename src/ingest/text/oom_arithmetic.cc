// What an OOM message's numbers say together. The rules are PyTorch's: c10/cuda/CUDACachingAllocator.cpp,
// get_allocation_size() for `tried` and the out-of-memory branch of malloc() for the identities.
#include <algorithm>

#include "ingest/text/oom_message.h"
#include "ingest/text/printed_size.h"
#include "model/oom_figures.h"

namespace vramfit::ingest {
namespace {

using model::OomForm;
using model::OomMessage;
using model::PrintedBytes;

constexpr std::int64_t kSmallSegment = 2 * kMib;   // kSmallBuffer: requests up to 1 MiB
constexpr std::int64_t kLargeSegment = 20 * kMib;  // kLargeBuffer: requests from 1 to 10 MiB
constexpr std::int64_t kSegmentStep = 2 * kMib;    // kRoundLarge

// The native allocators of CUDA, HIP and their likes print the segment that they asked the driver for.
bool prints_segment(const OomMessage& message) {
  switch (message.form) {
    case OomForm::kCachedTotal:
    case OomForm::kReservedTotal:
    case OomForm::kReservedHint:
    case OomForm::kProcesses:
    case OomForm::kProcessesHint:
      return message.device != model::OomDevice::kMps;
    default:
      return false;
  }
}

std::optional<PrintedBytes> tensor_size(const OomMessage& message) {
  if (!message.tried) return std::nullopt;
  const PrintedBytes& tried = *message.tried;
  if (!prints_segment(message)) return tried;
  const auto between = [](std::int64_t low, std::int64_t high) {
    return PrintedBytes{base::Bytes(high), base::Bytes(low), base::Bytes(high)};
  };
  if (tried.contains(base::Bytes(kSmallSegment))) return between(1, kMib);
  if (tried.contains(base::Bytes(kLargeSegment))) return between(kMib + 1, 10 * kMib - 1);
  // The one or more multiples of 2 MiB that print so; a size that is none is no segment of this allocator.
  const std::int64_t least = (tried.low.count() + kSegmentStep - 1) / kSegmentStep * kSegmentStep;
  const std::int64_t most = tried.high.count() / kSegmentStep * kSegmentStep;
  if (least > most) return tried;
  return PrintedBytes{tried.value, base::Bytes(std::max<std::int64_t>(least - kSegmentStep + 1, 0)), base::Bytes(most)};
}

// In a container the process's own number is not the driver's, and it is listed among the others: the one that holds
// what PyTorch reserved. With several, the least of them.
const model::OomProcess* find_own(const OomMessage& message, const PrintedBytes& reserved) {
  const model::OomProcess* own = nullptr;
  for (const model::OomProcess& process : message.processes) {
    if (process.bytes.high < reserved.low) continue;
    if (own == nullptr || process.bytes.value < own->bytes.value) own = &process;
  }
  return own;
}

std::optional<PrintedBytes> reserved_size(const OomMessage& message) {
  if (message.reserved) return message.reserved;
  if (!message.allocated) return std::nullopt;
  if (message.unallocated) return *message.allocated + *message.unallocated;
  if (message.cached) return *message.allocated + *message.cached;
  return std::nullopt;
}

std::optional<PrintedBytes> difference(const std::optional<PrintedBytes>& from,
                                       const std::optional<PrintedBytes>& what) {
  return from && what ? std::optional(*from - *what) : std::nullopt;
}

}  // namespace

model::OomArithmetic oom_arithmetic(const OomMessage& message) {
  model::OomArithmetic result;
  result.tensor = tensor_size(message);
  if (message.allocated) {
    result.live = message.private_pools ? *message.allocated - *message.private_pools : *message.allocated;
  }
  result.reserved = reserved_size(message);
  result.idle = message.unallocated ? message.unallocated
                : message.cached    ? message.cached
                                    : difference(result.reserved, message.allocated);
  if (model::allocated_exceeds_reserved(message)) result.idle = result.reserved = std::nullopt;  // nothing follows
  result.in_use = difference(message.total, message.free);
  result.outside = difference(result.in_use, result.reserved);
  // Some containers make the driver say 0 bytes: a process has no less than it reserved.
  const bool own_is_said =
      message.this_process && !(result.reserved && message.this_process->high < result.reserved->low);
  if (own_is_said) result.own_process = message.this_process;
  if (!result.own_process && result.reserved) {
    if (const auto* own = find_own(message, *result.reserved)) {
      result.own_process = own->bytes;
      result.own_pid = own->pid;
    }
  }
  result.context = difference(result.own_process, result.reserved);
  result.others = difference(result.in_use, result.own_process);
  return result;
}

}  // namespace vramfit::ingest
