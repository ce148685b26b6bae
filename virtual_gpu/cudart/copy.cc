// Copies and fills.
#include "virtual_gpu/cudart/runtime.h"
#include "virtual_gpu/device/device.h"
#include "virtual_gpu/device/stream.h"

using vramfit::cudart::answer;
namespace device = vramfit::device;

namespace {

// Whether the host waits: always for the plain calls, and for copies into memory the card can't reach by itself.
bool host_waits(const void* to, const void* from) {
  const device::Place target = device::find_range(to).place;
  const device::Place source = device::find_range(from).place;
  return target == device::Place::kUnknown && source != device::Place::kUnknown;
}

device::Work copy_work(void* to, const void* from, size_t bytes) {
  device::Work work;
  work.kind = device::WorkKind::kCopy;
  work.to = to;
  work.from = from;
  work.bytes = bytes;
  work.duration_ns = device::copy_duration_ns(to, from, bytes);
  return work;
}

device::Work fill_work(void* to, int value, size_t bytes) {
  device::Work work;
  work.kind = device::WorkKind::kFill;
  work.to = to;
  work.fill_value = static_cast<unsigned>(value) & 0xff;
  work.bytes = bytes;
  work.duration_ns = device::copy_duration_ns(to, to, bytes);
  return work;
}

cudaError_t copy_async(const device::Work& work, cudaStream_t stream, bool always_waits) {
  VF_NEED_CARD();
  if (work.bytes == 0 || work.rows == 0) return cudaSuccess;
  if (work.to == nullptr || work.from == nullptr) return answer(cudaErrorInvalidValue);
  if (const auto error = vramfit::cudart::touch_current(); error != device::Error::kNone) return answer(error);
  const auto error = device::submit(stream, work);
  if (error != device::Error::kNone) return answer(error);
  if (!always_waits && (device::capturing_graph(stream) != nullptr || !host_waits(work.to, work.from))) {
    return cudaSuccess;
  }
  return answer(device::synchronize_stream(stream));
}

// The plain calls work on the legacy stream, which a strict capture forbids.
cudaError_t copy_now(const device::Work& work) {
  if (const auto error = device::check_unsafe_call(); error != device::Error::kNone) return answer(error);
  return copy_async(work, nullptr, true);
}

cudaError_t fill_async(const device::Work& work, cudaStream_t stream) {
  VF_NEED_CARD();
  if (work.bytes == 0 || work.rows == 0) return cudaSuccess;
  if (work.to == nullptr) return answer(cudaErrorInvalidValue);
  if (const auto error = vramfit::cudart::touch_current(); error != device::Error::kNone) return answer(error);
  return answer(device::submit(stream, work));
}

device::Work rows_work(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t rows) {
  device::Work work = copy_work(to, from, width);
  work.duration_ns = device::copy_duration_ns(to, from, width * rows);
  work.rows = rows;
  work.to_pitch = to_pitch;
  work.from_pitch = from_pitch;
  return work;
}

bool is_valid(cudaMemcpyKind kind) { return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault; }

}  // namespace

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (!is_valid(kind)) return answer(cudaErrorInvalidMemcpyDirection);
  return copy_now(copy_work(to, from, bytes));
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (!is_valid(kind)) return answer(cudaErrorInvalidMemcpyDirection);
  return copy_async(copy_work(to, from, bytes), stream, false);
}

cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
  return copy_now(copy_work(to, from, bytes));
}

cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  return copy_async(copy_work(to, from, bytes), stream, false);
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
  if (!is_valid(kind)) return answer(cudaErrorInvalidMemcpyDirection);
  if (height > 1 && (to_pitch < width || from_pitch < width)) return answer(cudaErrorInvalidPitchValue);
  return copy_now(rows_work(to, to_pitch, from, from_pitch, width, height));
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  if (!is_valid(kind)) return answer(cudaErrorInvalidMemcpyDirection);
  if (height > 1 && (to_pitch < width || from_pitch < width)) return answer(cudaErrorInvalidPitchValue);
  return copy_async(rows_work(to, to_pitch, from, from_pitch, width, height), stream, false);
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  if (const auto error = device::check_unsafe_call(); error != device::Error::kNone) return answer(error);
  return fill_async(fill_work(to, value, bytes), nullptr);
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return fill_async(fill_work(to, value, bytes), stream);
}

cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  device::Work work = fill_work(to, value, width);
  work.rows = height;
  work.to_pitch = pitch;
  return fill_async(work, stream);
}

cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return cudaMemset2DAsync(to, pitch, value, width, height, nullptr);
}
