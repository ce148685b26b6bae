// Cards by ordinal and what this process takes of them.
#include <algorithm>

#include "virtual_gpu/ledger/accounts.h"
#include "virtual_gpu/ledger/ledger.h"
#include "virtual_gpu/ledger/process.h"
#include "vramfit/recording.h"

namespace vramfit::ledger {
namespace {

thread_local int current_ordinal = 0;

vf_process& slot_of(const Process& self) { return self.ledger->processes[self.slot]; }

bool has(const Process* self, int ordinal) {
  return self != nullptr && ordinal >= 0 && ordinal < static_cast<int>(self->cards.size());
}

// Context and memory in one critical section, so that two threads never charge the context twice.
bool touch_locked(const Lock& lock, const Process& self, int index, bool& charged) {
  vf_process& process = slot_of(self);
  if (process.context_bytes[index] != 0) return true;
  const int64_t context = self.ledger->cards[index].context_bytes;
  if (!take(lock, *self.ledger, self.slot, index, context)) return false;
  process.context_bytes[index] = std::max<int64_t>(context, 1);  // 1: touched, although the creator chose no context
  charged = true;
  return true;
}

void record_context(const Process& self, int ordinal) {
  const int index = self.cards[ordinal];
  emit(VF_RECORD_CONTEXT, ordinal, 0, self.ledger->cards[index].context_bytes, self.ledger->use[index].used_bytes, 0,
       nullptr);
}

}  // namespace

int card_count() {
  const Process* self = attached();
  return self == nullptr ? 0 : static_cast<int>(self->cards.size());
}

int index_in_ledger(int ordinal) {
  const Process* self = attached_once();
  return has(self, ordinal) ? self->cards[ordinal] : -1;
}

const vf_card* card(int ordinal) {
  const Process* self = attached_once();
  return has(self, ordinal) ? &self->ledger->cards[self->cards[ordinal]] : nullptr;
}

int current_card() { return current_ordinal; }

bool set_current_card(int ordinal) {
  if (!has(attached(), ordinal)) return false;
  current_ordinal = ordinal;
  return true;
}

bool keeps_all_values() {
  const vf_ledger* ledger = mapped();
  return ledger != nullptr && ledger->values == 1;
}

int driver_version() {
  const vf_ledger* ledger = mapped();
  return ledger == nullptr ? 0 : static_cast<int>(ledger->driver_version);
}

vf_address_order address_order() {
  const vf_ledger* ledger = mapped();
  return ledger == nullptr ? VF_ADDRESSES_LINUX : static_cast<vf_address_order>(ledger->address_order);
}

bool is_touched(int ordinal) {
  const Process* self = attached();
  return has(self, ordinal) && slot_of(*self).context_bytes[self->cards[ordinal]] != 0;
}

bool touch(int ordinal) {
  const Process* self = attached();
  if (!has(self, ordinal)) return false;
  bool charged = false;
  {
    const Lock lock(*self->ledger);
    if (!touch_locked(lock, *self, self->cards[ordinal], charged)) return false;
  }
  if (charged) record_context(*self, ordinal);
  return true;
}

bool take(int ordinal, int64_t bytes) {
  const Process* self = attached();
  if (!has(self, ordinal) || bytes < 0) return false;
  const int index = self->cards[ordinal];
  bool charged = false;
  bool taken = false;
  {
    const Lock lock(*self->ledger);
    taken = touch_locked(lock, *self, index, charged) && take(lock, *self->ledger, self->slot, index, bytes);
  }
  if (charged) record_context(*self, ordinal);
  return taken;
}

bool take_oversubscribed(int ordinal, int64_t bytes) {
  const Process* self = attached();
  if (!has(self, ordinal) || !touch(ordinal)) return false;
  const Lock lock(*self->ledger);
  take_oversubscribed(lock, *self->ledger, self->slot, self->cards[ordinal], bytes);
  return true;
}

void give_back(int ordinal, int64_t bytes) {
  const Process* self = attached();
  if (!has(self, ordinal)) return;
  const Lock lock(*self->ledger);
  give_back(lock, *self->ledger, self->slot, self->cards[ordinal], bytes);
}

MemoryInfo memory_info(int ordinal) {
  const Process* self = attached();
  if (!has(self, ordinal)) return {};
  const Lock lock(*self->ledger);
  reclaim_dead(lock, *self->ledger);
  const int index = self->cards[ordinal];
  return {free_bytes(lock, *self->ledger, index), self->ledger->cards[index].total_bytes};
}

int64_t used_bytes(int ordinal) {
  const Process* self = attached();
  return has(self, ordinal) ? __atomic_load_n(&self->ledger->use[self->cards[ordinal]].used_bytes, __ATOMIC_RELAXED)
                            : 0;
}

}  // namespace vramfit::ledger
