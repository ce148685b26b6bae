// MIG slices, which only a script makes. They are numbered from GPU instance 1 on, each with compute instance 0.
#include <cstdio>
#include <string>

#include "virtual_gpu/ledger/visible.h"
#include "virtual_gpu/nvml/script.h"

using vramfit::nvml::Handle;
namespace nvml = vramfit::nvml;

namespace vramfit::nvml {
namespace {

// The scripted slice of a handle, if it still is one.
std::optional<ScriptedSlice> slice_of(Handle handle) {
  const auto name = find_slice(handle);
  if (!name) return std::nullopt;
  const auto card = scripted(name->card);
  return name->slice < card->slices.size() ? std::optional(card->slices[name->slice]) : std::nullopt;
}

}  // namespace

std::string slice_uuid(Handle handle) {
  const auto name = find_slice(handle);
  const vf_ledger* book = ledger_if_initialised();
  if (!name || book == nullptr || name->card >= static_cast<int>(book->card_count)) return {};
  std::string uuid = ledger::uuid_text(book->cards[name->card]);
  uuid.replace(0, 3, "MIG");
  uuid.back() = static_cast<char>('0' + name->slice);
  return uuid;
}

std::string slice_label(Handle handle) {
  const auto name = find_slice(handle);
  const auto slice = slice_of(handle);
  const vf_ledger* book = ledger_if_initialised();
  if (!slice || book == nullptr) return {};
  return std::string(book->cards[name->card].name) + " MIG " + slice->name;
}

int slice_memory(Handle handle, uint64_t* total, uint64_t* used) {
  if (const int answer = forced_answer(handle); answer != kSuccess) return answer;
  const auto slice = slice_of(handle);
  if (!slice) return kInvalidArgument;
  *total = slice->total;
  *used = slice->used;
  return kSuccess;
}

}  // namespace vramfit::nvml

VF_ABI int nvmlDeviceGetMigMode(Handle handle, unsigned* mode, unsigned* pending) {
  if (const int answer = nvml::forced_answer(handle); answer != nvml::kSuccess) return answer;
  const int card = nvml::index_of(handle);
  if (card < 0 || mode == nullptr || pending == nullptr) return nvml::kInvalidArgument;
  const bool is_divided = !nvml::scripted(card)->slices.empty();
  // Cards that could be divided say that they are not: A100, A30, Hopper and Blackwell of the data centre.
  const bool could_be = (handle->compute_major == 8 && handle->compute_minor == 0) || handle->compute_major == 9 ||
                        handle->compute_major == 10;
  if (!is_divided && !could_be) return nvml::kNotSupported;
  *mode = *pending = is_divided ? 1 : 0;
  return nvml::kSuccess;
}

VF_ABI int nvmlDeviceGetMaxMigDeviceCount(Handle handle, unsigned* count) {
  if (const int answer = nvml::forced_answer(handle); answer != nvml::kSuccess) return answer;
  const int card = nvml::index_of(handle);
  if (card < 0 || count == nullptr) return nvml::kInvalidArgument;
  if (nvml::scripted(card)->slices.empty()) return nvml::kNotSupported;
  *count = 7;
  return nvml::kSuccess;
}

VF_ABI int nvmlDeviceGetMigDeviceHandleByIndex(Handle handle, unsigned index, Handle* slice) {
  if (const int answer = nvml::forced_answer(handle); answer != nvml::kSuccess) return answer;
  const int card = nvml::index_of(handle);
  if (card < 0 || slice == nullptr) return nvml::kInvalidArgument;
  const size_t count = nvml::scripted(card)->slices.size();
  if (count == 0) return nvml::kNotSupported;
  if (index >= count) return nvml::kNotFound;
  *slice = nvml::slice_handle(card, index);
  return nvml::kSuccess;
}

VF_ABI int nvmlDeviceIsMigDeviceHandle(Handle handle, unsigned* is_slice) {
  if (is_slice == nullptr) return nvml::kInvalidArgument;
  if (nvml::index_of(handle) < 0 && !nvml::find_slice(handle)) return nvml::kInvalidArgument;
  *is_slice = nvml::find_slice(handle) ? 1 : 0;
  return nvml::kSuccess;
}

VF_ABI int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Handle slice, Handle* card) {
  const auto name = nvml::find_slice(slice);
  const vf_ledger* book = nvml::ledger_if_initialised();
  if (card == nullptr || !name || book == nullptr) return nvml::kInvalidArgument;
  *card = &book->cards[name->card];
  return nvml::kSuccess;
}

VF_ABI int nvmlDeviceGetGpuInstanceId(Handle handle, unsigned* id) {
  const auto name = nvml::find_slice(handle);
  if (id == nullptr) return nvml::kInvalidArgument;
  if (!name) return nvml::kNotSupported;
  *id = name->slice + 1;
  return nvml::kSuccess;
}

VF_ABI int nvmlDeviceGetComputeInstanceId(Handle handle, unsigned* id) {
  if (id == nullptr) return nvml::kInvalidArgument;
  if (!nvml::find_slice(handle)) return nvml::kNotSupported;
  *id = 0;
  return nvml::kSuccess;
}
