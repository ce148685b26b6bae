#include <fmt/format.h>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

void look(const Scene& scene, Draft& draft) {
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
      draft.weigh(room ? 0.96 : 0.85);
      draft.because(scene.oom_line(),
                    fmt::format("{} reserved + {} asked for = {}, and {} are allowed{}", show(used), show(terms.tried),
                                show(*used + *terms.tried), show(terms.allowed),
                                room ? fmt::format("; the card itself has {} free", show(terms.free)) : std::string()));
    } else if (below_card && !used) {
      draft.weigh(0.6).because(scene.oom_line(),
                               fmt::format("only {} are allowed to this process", show(terms.allowed)));
    }
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
                           "the words \"allowed\" in the message, and reserved + request above that limit",
                           "torch.cuda.set_per_process_memory_fraction (or the setting of the same name) refuses a "
                           "request that would take the "
                           "process's reservations above a share of the card, however much is free.",
                           "Raise the fraction, or find who sets it: shared clusters and notebooks services often do.",
                           look};

}  // namespace vramfit::doctor
