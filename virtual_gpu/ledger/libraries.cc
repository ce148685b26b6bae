// What libraries and loaded kernels hold on a card, charged when this process first uses them.
#include <array>
#include <atomic>

#include "virtual_gpu/ledger/accounts.h"
#include "virtual_gpu/ledger/ledger.h"
#include "virtual_gpu/ledger/process.h"
#include "vramfit/recording.h"

namespace vramfit::ledger {
namespace {

constexpr std::array kNames = {"cuBLAS",     "cuDNN",  "cuFFT", "cuSOLVER",  "cuSPARSE",
                               "cuSPARSELt", "cuRAND", "NCCL",  "extensions"};
static_assert(kNames.size() == static_cast<size_t>(Library::kExtension) + 1);

using Cards = std::atomic<uint32_t>;  // one bit per card; never copied by a usable fork

// True when the card's bit was set before, or `bytes` could be taken.
bool charge_once(Cards& charged, int ordinal, int64_t bytes, const char* name) {
  const uint32_t bit = 1u << index_in_ledger(ordinal);
  if ((charged.load(std::memory_order_relaxed) & bit) != 0) return true;
  if ((charged.fetch_or(bit) & bit) != 0) return true;
  if (charge_library(ordinal, bytes, name)) return true;
  charged.fetch_and(~bit);
  return false;
}

}  // namespace

bool charge_library(int ordinal, int64_t bytes, const char* name) {
  const int index = index_in_ledger(ordinal);
  if (index < 0) return false;
  if (bytes == 0) return true;
  if (bytes > 0 && !take(ordinal, bytes)) return false;
  if (bytes < 0) give_back(ordinal, -bytes);
  {
    const Process* self = attached();
    if (self == nullptr) return false;  // the process has ended meanwhile
    const Lock lock(*self->ledger);
    self->ledger->processes[self->slot].library_bytes[index] += bytes;
  }
  emit(VF_RECORD_LIBRARY, ordinal, 0, bytes, used_bytes(ordinal), 0, name);
  return true;
}

bool charge_kernels(int ordinal) {
  static Cards charged{0};
  const vf_card* facts = card(ordinal);
  if (facts == nullptr) return false;
  return charge_once(charged, ordinal, facts->kernel_bytes, "kernels");
}

bool charge_use(int ordinal, Library library) {
  static std::array<Cards, kNames.size()> charged{};
  const vf_card* facts = card(ordinal);
  const auto which = static_cast<size_t>(library);
  return facts != nullptr && charge_once(charged[which], ordinal, facts->library_bytes, kNames[which]);
}

}  // namespace vramfit::ledger
