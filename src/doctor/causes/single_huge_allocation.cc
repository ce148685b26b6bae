#include <fmt/format.h>

#include "doctor/causes/causes.h"
#include "doctor/printed_shape.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

constexpr double kNonsense = 100;  // times the card: a bug in a size, VF110

// A Mac's GPU has a limit for one buffer, below what it has in all.
bool look_at_metal(const Scene& scene, Draft& draft) {
  for (const model::ForeignDump& dump : scene.texts.foreign) {
    if (dump.kind != "buffer" || dump.sizes.empty()) continue;
    draft.weigh(0.85).because(dump.at, fmt::format("{} asked for as one buffer: more than this GPU gives to any",
                                                   show(dump.sizes.front().bytes)));
    draft.fix({"Compute it in chunks: shorter prompts, or the prompt in parts", "--prefill-step-size 512  # mlx_lm",
               std::nullopt, "little", Applicability::kMayBeWrong});
    return true;
  }
  return false;
}

void find_single_huge_allocation(const Scene& scene, Draft& draft) {
  if (scene.oom == nullptr && look_at_metal(scene, draft)) return;
  const Terms& terms = scene.terms;
  if (scene.oom == nullptr || !terms.tried) return;
  const double asked = share(terms.tried, terms.total), live = share(terms.live, terms.total);
  if (asked >= kNonsense) return;
  if (surely_above(terms.tried, terms.total)) {
    draft.weigh(0.85).because(scene.oom_line(), fmt::format("{} asked for at once, and the whole card has {}",
                                                            show(terms.tried), show(terms.total)));
  } else if (asked >= 0.3 && live < 0.5) {
    const Size within = terms.free && terms.idle ? Size(*terms.free + *terms.idle) : terms.free;
    if (!surely_above(terms.tried, within)) return;
    draft.weigh(asked >= 0.5 ? 0.7 : 0.5)
        .because(scene.oom_line(),
                 fmt::format("one request of {} ({} of the card) while only {} are live; {} free + {} cached = {}",
                             show(terms.tried), percent(asked), show(terms.live), show(terms.free), show(terms.idle),
                             show(within)));
  } else if (asked >= 0.2 && live < 0.7) {
    draft.weigh(0.35).because(scene.oom_line(),
                              fmt::format("one request of {}, {} of the card", show(terms.tried), percent(asked)));
  }
  if (draft.is_empty()) return;
  if (const auto shape = find_printed_shape(scene)) draft.because(shape->at, "its shape: " + shape->describe());
  if (scene.stack.innermost_own() != nullptr) {
    draft.because(*scene.stack.innermost_own(), "it was asked for here");
  } else {
    ask_for_traceback(scene, draft);
  }
  draft.fix(
      {"Look at the shapes of the operands on that line: broadcasting, a wrong dimension, or one-hot and pairwise "
       "products make such tensors",
       "print(a.shape, b.shape)", std::nullopt, "none", Applicability::kFillIn});
  draft.fix({"Compute it in chunks", "out = torch.cat([f(part) for part in x.split(CHUNK)])", std::nullopt, "little",
             Applicability::kFillIn});
}

}  // namespace

const Cause kSingleHugeAllocation{
    "VF109",
    "single_huge_allocation",
    "One tensor is larger than what the card can give",
    "a request above the card's total, or above free + cached while little is live",
    "A single operation asks for a tensor that could never fit beside what little is there: a pairwise product, a "
    "one-hot "
    "code, an accidental broadcast, a whole data set moved at once.",
    "Check the shapes on the failing line; compute in chunks; keep the data set on the host.",
    find_single_huge_allocation};

}  // namespace vramfit::doctor
