#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

#include "doctor/causes/causes.h"
#include "doctor/printed_shape.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

constexpr double kNonsense = 100;  // times the card: a bug in a size, VF110

// Where the message tells no total. Larger cards are there; a single request of so much is rarely meant on those
// either.
constexpr Bytes kAboveMostCards = Bytes::gib(64);

// A Mac's GPU has a limit for one buffer, below what it has in all.
bool look_at_metal(const Scene& scene, Draft& draft) {
  for (const model::ForeignDump& dump : scene.texts.foreign) {
    if (dump.kind != model::ForeignKind::kBuffer || dump.sizes.empty()) continue;
    draft.weigh(0.85).because(dump.at, fmt::format("{} asked for as one buffer: more than this GPU gives to any",
                                                   show(dump.sizes.front().bytes)));
    draft.fix({"Compute it in chunks: shorter prompts, or the prompt in parts", "--prefill-step-size 512  # mlx_lm",
               std::nullopt, "little", Applicability::kMayBeWrong});
    return true;
  }
  return false;
}

// Vulkan's drivers have a limit for one buffer too, and llama.cpp says that this is it.
bool look_at_vulkan(const Scene& scene, Draft& draft) {
  for (const model::ForeignDump& dump : scene.texts.foreign) {
    if (dump.kind != model::ForeignKind::kBuffer || dump.program != "llama.cpp") continue;
    draft.weigh(0.85).title("One buffer is larger than what Vulkan's driver gives to any");
    draft.because(dump.at, "the limit is for a single buffer, however much is free");
    draft.fix({"Smaller buffers for computing: fewer tokens at once, and no whole table of scores",
               "-ub 512 -fa on  # llama.cpp", std::nullopt, "a slower prompt", Applicability::kMayBeWrong});
    offer_shorter_context(8192, draft);
    offer_smaller_blocks_of_vulkan(draft);
    return true;
  }
  return false;
}

// Intel's first cards give no block of 4 GiB or more unless they are told to, however much is free.
bool look_at_intel(const Scene& scene, Draft& draft) {
  if (scene.oom == nullptr || !scene.terms.tried) return false;
  const Terms& terms = scene.terms;
  const bool is_said = mentions(scene.oom->at.text, {"larger than 4gb", "larger than 4 gb"});
  const bool is_above = scene.oom->device == model::OomDevice::kXpu && terms.tried->high >= Bytes::mib(4096);
  const bool has_room =
      terms.total && !surely_above(terms.live ? Size(*terms.live + *terms.tried) : terms.tried, terms.total);
  if (!is_said && !(is_above && has_room)) return false;
  draft.weigh(is_said ? 0.88 : 0.75).title("Intel's driver gives no single block of 4 GiB or more");
  draft.because(scene.oom_line(),
                fmt::format("{} asked for as one block, of {} in all", show(terms.tried), show(terms.total)));
  draft.fix({"Compute it in chunks, so that no tensor takes 4 GiB",
             "out = torch.cat([f(part) for part in x.split(CHUNK)])  # pictures: a tiled decode, split attention",
             std::nullopt, "little", Applicability::kFillIn});
  draft.fix({"Allow larger blocks, where the driver can", "export UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1",
             std::nullopt, "some", Applicability::kMayBeWrong});
  return true;
}

// "[9075063, 200]": the shapes in brackets of a line.
std::vector<std::vector<double>> find_shapes(std::string_view text) {
  std::vector<std::vector<double>> shapes;
  for (std::size_t open = text.find('['); open != std::string_view::npos; open = text.find('[', open + 1)) {
    std::vector<double> shape;
    std::size_t at = open + 1;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      double size = 0;
      for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) size = size * 10 + (text[at] - '0');
      shape.push_back(size);
      while (at < text.size() && (text[at] == ',' || text[at] == ' ')) ++at;
    }
    if (shape.size() >= 2 && at < text.size() && text[at] == ']') shapes.push_back(std::move(shape));
  }
  return shapes;
}

double elements_of(const std::vector<double>& shape) {
  return std::accumulate(shape.begin(), shape.end(), 1.0, std::multiplies<>());
}

// The elements of what two shapes make when one is stretched to the other's sizes; none where they don't go together.
double elements_of_broadcast(const std::vector<double>& one, const std::vector<double>& other) {
  if (one.size() != other.size()) return 0;
  double product = 1;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i] != other[i] && one[i] != 1 && other[i] != 1) return 0;
    product *= std::max(one[i], other[i]);
  }
  return product;
}

// The bytes of the largest tensor of a line's shapes, in elements of four bytes.
double largest_shape(std::string_view text) {
  const auto shapes = find_shapes(text);
  double most = 0;
  for (const auto& shape : shapes) {
    most = std::max(most, elements_of(shape));
    for (const auto& other : shapes) most = std::max(most, elements_of_broadcast(shape, other));
  }
  return most * 4;
}

// Somebody tells the shape of what could not be made.
void look_at_told_shape(const Scene& scene, Draft& draft) {
  constexpr double kMostOfACard = 4.0 * (1 << 30);
  if (scene.oom_has_numbers) return;
  for (const auto* told : {&scene.texts.oom_mentions, &scene.texts.memory_words}) {
    for (const model::SourceLine& at : *told) {
      const double bytes = largest_shape(at.text);
      if (bytes < kMostOfACard) continue;
      draft.weigh(0.55).because(at,
                                fmt::format("a tensor of this shape is {} in float32, and its gradient as much again",
                                            show(Bytes(static_cast<std::int64_t>(bytes)))));
      draft.fix({"Do it in parts: edges, pairs or rows of a chunk at a time", "for part in index.split(100_000): ...",
                 std::nullopt, "a little slower", Applicability::kFillIn});
      return;
    }
  }
}

void offer_smaller_tensor(Draft& draft) {
  draft.fix(
      {"Look at the shapes of the operands on that line: broadcasting, a wrong dimension, or one-hot and pairwise "
       "products make such tensors",
       "print(a.shape, b.shape)", std::nullopt, "none", Applicability::kFillIn});
  draft.fix({"Compute it in chunks", "out = torch.cat([f(part) for part in x.split(CHUNK)])", std::nullopt, "little",
             Applicability::kFillIn});
}

// A snapshot tells what was asked for, and not the card's total: what others hold is missing in what it could have got.
void look_at_failed_request(const Scene& scene, Draft& draft) {
  constexpr Bytes kLessThanAnyCard = Bytes::gib(3);
  for (const SnapshotFacts& facts : scene.snapshots) {
    const Bytes reach = facts.in_reach();
    if (!facts.failed_size || reach.count() <= 0) continue;
    const Bytes asked_for = *facts.failed_size;
    const double asked = share(asked_for, reach), live = share(facts.active, reach);
    if (asked >= kNonsense && reach >= kLessThanAnyCard) continue;
    const bool fits_cache = asked_for <= *facts.device_free + facts.idle - facts.idle_in_private;
    if (asked > 1) {
      const bool is_above_most = asked_for >= kAboveMostCards;
      draft.weigh(is_above_most || (reach >= kLessThanAnyCard && live < 0.5) ? 0.85 : live < 0.5 ? 0.5 : 0.6);
    } else if (asked >= 0.3 && live < 0.5 && !fits_cache) {
      draft.weigh(asked >= 0.5 ? 0.7 : 0.5);
    } else {
      continue;
    }
    draft.because(
        model::SourceLine{facts.file, 0, ""},
        fmt::format("one request of {}{} while {} were live and {} free: {} in all, with {} idle in the cache",
                    show(asked_for), facts.failed_line.empty() ? "" : " at " + facts.failed_line, show(facts.active),
                    show(*facts.device_free), show(reach), show(facts.idle)));
    if (reach < kLessThanAnyCard && asked_for < kAboveMostCards)
      draft.confirm("nvidia-smi at the time of the failure: a snapshot does not show what others hold of the card");
    offer_smaller_tensor(draft);
    return;
  }
}

void find_single_huge_allocation(const Scene& scene, Draft& draft) {
  if (scene.oom == nullptr && !scene.has_run()) look_at_failed_request(scene, draft);
  look_at_told_shape(scene, draft);
  if (scene.oom == nullptr && (look_at_metal(scene, draft) || look_at_vulkan(scene, draft))) return;
  if (look_at_intel(scene, draft)) return;
  const Terms& terms = scene.terms;
  if (scene.oom == nullptr || !terms.tried) return;
  const double asked = share(terms.tried, terms.total), live = share(terms.live, terms.total);
  if (asked >= kNonsense) return;
  if (!terms.total && terms.tried->low >= kAboveMostCards &&
      static_cast<double>(terms.tried->low.count()) < kNonsense * static_cast<double>(kAboveMostCards.count())) {
    draft.weigh(0.68).because(scene.oom_line(),
                              fmt::format("{} asked for at once, more than nearly any card has", show(terms.tried)));
  } else if (surely_above(terms.tried, terms.total)) {
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
  offer_smaller_tensor(draft);
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
