// MIG slices: the instance that a card of the ledger is (`--gpu h100:1g.10gb`), or those that a script makes. They are
// numbered from GPU instance 1 on, each with compute instance 0. The handle of the card is that of the whole one, as
// a real driver shows it to whoever has an instance of it.
#include <cstdio>
#include <string>

#include "virtual_gpu/ledger/accounts.h"
#include "virtual_gpu/ledger/visible.h"
#include "virtual_gpu/nvml/script.h"

using vramfit::nvml::Handle;
namespace nvml = vramfit::nvml;

namespace vramfit::nvml {
namespace {

Slice scripted_slice(const vf_card& card, const SliceName& name, const ScriptedSlice& from) {
  Slice slice{.card = name.card, .number = name.slice, .total = from.total, .used = from.used};
  slice.name = std::string(card_name(card)) + " MIG " + from.name;
  slice.uuid = ledger::whole_uuid_text(card);
  slice.uuid.replace(0, 3, "MIG");
  slice.uuid.back() = static_cast<char>('0' + name.slice);
  return slice;
}

Slice own_slice(const vf_ledger& book, int index) {
  const vf_card& card = book.cards[index];
  return {.card = index,
          .name = card.name,
          .uuid = ledger::uuid_text(card),
          .total = static_cast<uint64_t>(card.total_bytes),
          .used = static_cast<uint64_t>(ledger::living_bytes(book, index)),
          .multiprocessors = static_cast<unsigned>(card.sm_count),
          .compute_slices = static_cast<unsigned>(card.mig_slices)};
}

}  // namespace

bool is_slice(Handle handle) { return find_slice(handle).has_value(); }

std::optional<Slice> slice_of(Handle handle) {
  const auto name = find_slice(handle);
  const vf_ledger* book = ledger_if_initialised();
  if (!name || book == nullptr || name->card >= static_cast<int>(book->card_count)) return std::nullopt;
  const vf_card& card = book->cards[name->card];
  const auto more = scripted(name->card);
  if (name->slice < more->slices.size()) return scripted_slice(card, *name, more->slices[name->slice]);
  if (!more->slices.empty() || name->slice > 0 || !ledger::is_mig_instance(card)) return std::nullopt;
  return own_slice(*book, name->card);
}

unsigned slice_count(int card) {
  const vf_ledger* book = ledger_if_initialised();
  if (card < 0 || book == nullptr) return 0;
  const auto count = static_cast<unsigned>(scripted(card)->slices.size());
  return count == 0 && ledger::is_mig_instance(book->cards[card]) ? 1 : count;
}

std::string_view card_name(const vf_card& card) { return ledger::is_mig_instance(card) ? card.whole_name : card.name; }
int64_t card_bytes(const vf_card& card) { return ledger::is_mig_instance(card) ? card.whole_bytes : card.total_bytes; }
int card_multiprocessors(const vf_card& card) {
  return ledger::is_mig_instance(card) ? card.whole_sm_count : card.sm_count;
}

}  // namespace vramfit::nvml

VF_ABI int nvmlDeviceGetMigMode(Handle handle, unsigned* mode, unsigned* pending) {
  if (const int answer = nvml::forced_answer(handle); answer != nvml::kSuccess) return answer;
  const int card = nvml::index_of(handle);
  if (card < 0 || mode == nullptr || pending == nullptr) return nvml::kInvalidArgument;
  const bool is_divided = nvml::slice_count(card) > 0;
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
  if (nvml::slice_count(card) == 0) return nvml::kNotSupported;
  *count = nvml::kMostSlices;
  return nvml::kSuccess;
}

VF_ABI int nvmlDeviceGetMigDeviceHandleByIndex(Handle handle, unsigned index, Handle* slice) {
  if (const int answer = nvml::forced_answer(handle); answer != nvml::kSuccess) return answer;
  const int card = nvml::index_of(handle);
  if (card < 0 || slice == nullptr) return nvml::kInvalidArgument;
  const unsigned count = nvml::slice_count(card);
  if (count == 0) return nvml::kNotSupported;
  if (index >= count) return nvml::kNotFound;
  *slice = nvml::slice_handle(card, index);
  return nvml::kSuccess;
}

VF_ABI int nvmlDeviceIsMigDeviceHandle(Handle handle, unsigned* is_slice) {
  if (is_slice == nullptr) return nvml::kInvalidArgument;
  if (nvml::index_of(handle) < 0 && !nvml::is_slice(handle)) return nvml::kInvalidArgument;
  *is_slice = nvml::is_slice(handle) ? 1 : 0;
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
  if (!nvml::is_slice(handle)) return nvml::kNotSupported;
  *id = 0;
  return nvml::kSuccess;
}

// One compute instance has all of its GPU instance. Engines that are shared are the card's, of which nothing is known.
VF_ABI int nvmlDeviceGetAttributes_v2(Handle handle, nvml::DeviceAttributes* told) {
  if (const int answer = nvml::forced_answer(handle); answer != nvml::kSuccess) return answer;
  if (told == nullptr || (nvml::index_of(handle) < 0 && !nvml::is_slice(handle))) return nvml::kInvalidArgument;
  const auto slice = nvml::slice_of(handle);
  if (!slice) return nvml::kNotSupported;
  *told = {.multiprocessors = slice->multiprocessors,
           .gpu_instance_slices = slice->compute_slices,
           .compute_instance_slices = slice->compute_slices,
           .memory_mib = slice->total >> 20};
  return nvml::kSuccess;
}
