#include "virtual_gpu/device/context.h"

#include <atomic>

#include "virtual_gpu/device/memory.h"
#include "virtual_gpu/device/stream_types.h"

namespace vramfit::device {
namespace {

std::atomic<const void* (*)()> current_context{nullptr};

}  // namespace

void ask_for_context_by(const void* (*current)()) { current_context.store(current, std::memory_order_release); }

const void* context_of_new() {
  const auto current = current_context.load(std::memory_order_acquire);
  return current == nullptr ? nullptr : current();
}

void destroy_all_of(const void* context) {
  destroy_streams_of(context);
  release_memory_of(context);
}

}  // namespace vramfit::device
