#include <fmt/format.h>

#include <optional>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

// PyTorch 2.1 does not print the limit. It shows by where the process stopped: with much free, the request would have
// carried it over a round part of the card, which by chance it rarely would.
//
//   reserved 39.52 GiB      50% of 79.15 GiB = 39.58 GiB
//   |----------------------|-- asked 64 MiB --|
std::optional<int> find_unprinted_limit(const Terms& terms) {
  constexpr int kStep = 5;           // percent
  constexpr double kByChance = 0.1;  // at most: how often a request crosses such a part anyway
  if (!has_room(terms) || !terms.reserved || !terms.total || !terms.tried) return std::nullopt;
  if (share(terms.tried, terms.total) > kByChance * kStep / 100) return std::nullopt;
  for (int part = kStep; part < 100; part += kStep) {
    const Bytes limit(terms.total->value.count() / 100 * part);
    if (terms.reserved->low <= limit && limit < (*terms.reserved + *terms.tried).high) return part;
  }
  return std::nullopt;
}

void find_fraction_limit(const Scene& scene, Draft& draft) {
  const Terms& terms = scene.terms;
  if (scene.oom == nullptr || scene.is_of_mps()) return;  // a Mac's "max allowed" is what it recommends
  if (scene.oom->form == model::OomForm::kRefused) {
    draft.weigh(0.7).because(scene.oom_line(), "refused before the driver was asked: a limit of the process's own");
  }
  if (terms.allowed && terms.tried) {
    const Size used = terms.reserved ? terms.reserved : terms.allocated;
    const bool below_card = !terms.total || terms.allowed->value.count() < terms.total->value.count();
    if (used && below_card && may_reach(*used + *terms.tried, terms.allowed)) {
      const bool room = terms.free && surely_above(terms.free, terms.tried);
      // Where it is above the limit for sure, nobody else matters, whoever is there.
      draft.weigh(room ? 0.96 : surely_above(*used + *terms.tried, terms.allowed) ? 0.9 : 0.85);
      draft.because(scene.oom_line(),
                    fmt::format("{} reserved + {} asked for = {}, and {} are allowed{}", show(used), show(terms.tried),
                                show(*used + *terms.tried), show(terms.allowed),
                                room ? fmt::format("; the card itself has {} free", show(terms.free)) : std::string()));
    } else if (below_card && !used) {
      draft.weigh(0.6).because(scene.oom_line(),
                               fmt::format("only {} are allowed to this process", show(terms.allowed)));
    }
  } else if (terms.allowed && share(terms.reserved, terms.allowed) > 0.9) {
    draft.weigh(0.75).because(scene.oom_line(), fmt::format("{} are reserved, and {} are allowed to this process",
                                                            show(terms.reserved), show(terms.allowed)));
  } else if (const auto part = find_unprinted_limit(terms); part && !terms.allowed) {
    draft.weigh(0.87).because(
        scene.oom_line(), fmt::format("{} are free; {} reserved + {} asked for goes just beyond {}% of the card: so "
                                      "stops a process with a memory fraction of {:.2f}",
                                      show(terms.free), show(terms.reserved), show(terms.tried), *part, *part / 100.0));
  } else if (scene.in_force.memory_fraction && terms.free && surely_above(terms.free, terms.tried)) {
    draft.weigh(0.7).because(
        scene.oom_line(), fmt::format("{} are free for a request of {}, and a memory fraction is set", show(terms.free),
                                      show(terms.tried)));
  }
  if (draft.is_empty()) return;
  draft.fix({"Raise or remove the process's own limit",
             "torch.cuda.set_per_process_memory_fraction(1.0)  # or per_process_memory_fraction in "
             "PYTORCH_CUDA_ALLOC_CONF",
             std::nullopt, "none", Applicability::kMayBeWrong});
}

}  // namespace

const Cause kFractionLimit{"VF302",
                           "fraction_limit",
                           "The process has a memory limit of its own, below what the card has",
                           "the words \"allowed\" in the message, and reserved + request above that limit; unprinted: "
                           "much free, and a round part of the card just passed",
                           "torch.cuda.set_per_process_memory_fraction (or the setting of the same name) refuses a "
                           "request that would take the "
                           "process's reservations above a share of the card, however much is free.",
                           "Raise the fraction, or find who sets it: shared clusters and notebooks services often do.",
                           find_fraction_limit};

}  // namespace vramfit::doctor
