// What the user must be told, kept in the ledger: one entry per text, counted.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "virtual_gpu/ledger/accounts.h"
#include "virtual_gpu/ledger/ledger.h"
#include "virtual_gpu/ledger/process.h"

namespace vramfit::ledger {
namespace {

// A full table keeps counting what it knows and drops what is new: the first notes are the ones that matter.
void note(uint32_t kind, std::string_view text) {
  vf_ledger* ledger = mapped();
  if (ledger == nullptr) return;
  text = text.substr(0, sizeof(vf_ledger_note::text) - 1);
  const Lock lock(*ledger);
  for (vf_ledger_note& entry : ledger->notes) {
    if (entry.kind == 0) {
      std::memcpy(entry.text, text.data(), text.size());
      entry.text[text.size()] = '\0';
      entry.count = 1;
      entry.kind = kind;
      return;
    }
    if (entry.kind == kind && text == entry.text) {
      ++entry.count;
      return;
    }
  }
}

}  // namespace

void note_not_modelled(const char* function) { note(VF_NOTE_NOT_MODELLED, std::string("not modelled: ") + function); }
void note_assumed(const char* text) { note(VF_NOTE_ASSUMED, text); }
void note_data_read(const char* text) { note(VF_NOTE_DATA_READ, text); }
void note_warning(const char* text) { note(VF_NOTE_WARNING, text); }
void note_loss(const char* key) { note(VF_NOTE_LOSS, key); }

}  // namespace vramfit::ledger

void vramfit_gpu_not_modelled(const char* function) { vramfit::ledger::note_not_modelled(function); }
