#include "job/so_far.h"

#include <fmt/format.h>
#include <vramfit/ledger.h>

#include <filesystem>

#include "model/told.h"

namespace vramfit::job {

using base::Bytes;

std::string describe_so_far(const vf_ledger& ledger) {
  int fullest = -1;
  Bytes least_room;
  for (int card = 0; card < static_cast<int>(ledger.card_count); ++card) {
    const Bytes used(ledger.use[card].peak_used_bytes);
    const Bytes room = Bytes(ledger.cards[card].total_bytes) - used;
    if (used.count() == 0 || (fullest >= 0 && room >= least_room)) continue;
    fullest = card;
    least_room = room;
  }
  if (fullest < 0) return "";
  return fmt::format("so far it fits: {} of {} at the peak", to_string(Bytes(ledger.use[fullest].peak_used_bytes)),
                     to_string(Bytes(ledger.cards[fullest].total_bytes)));
}

void SoFar::look(base::ProgressSink& progress) {
  std::error_code ignored;
  if (said_ || run_.session().ledger() == nullptr) return;
  if (!std::filesystem::exists(run_.session().run_folder() / model::told::kSoFarFile, ignored)) return;
  said_ = true;
  const std::string text = describe_so_far(*run_.session().ledger());
  if (!text.empty()) progress.say(text + "; it is run on (--within; Ctrl-C: the answer as it is)");
}

}  // namespace vramfit::job
