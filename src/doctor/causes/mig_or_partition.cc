#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "base/letters.h"
#include "base/parse_number.h"
#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

// What the drivers report for slices of A100, A30 and H100 cards and what no whole card has, in MiB.
constexpr std::array kSliceMib = {4864, 4750, 5952, 9728, 9856, 19968, 20096};

bool is_slice_sized(const Size& total) {
  return total && std::any_of(kSliceMib.begin(), kSliceMib.end(), [&](int mib) {
           return std::abs(total->value.count() - model::Bytes::mib(mib).count()) < model::Bytes::mib(12).count();
         });
}

std::optional<model::Bytes> memory_of(const std::vector<model::Card>& cards, const std::string& name) {
  if (name.empty()) return std::nullopt;
  for (const model::Card& card : cards) {
    if (mentions(name, {lowered(card.name)})) return card.memory;
  }
  return std::nullopt;
}

// "98304M of VRAM memory ready"
std::optional<model::Bytes> bytes_of_driver(std::string_view text) {
  const std::size_t words = lowered(text).find("m of vram");
  if (words == std::string::npos) return std::nullopt;
  std::size_t begin = words;
  while (begin > 0 && base::is_digit(text[begin - 1])) --begin;
  const auto mib = base::parse_number<std::int64_t>(text.substr(begin, words - begin));
  return mib && *mib > 0 && *mib < (1 << 24) ? std::optional(model::Bytes::mib(*mib)) : std::nullopt;
}

// The first figure of "63968M of GTT memory ready." and "GTT memory: 15.5G of memory ready"
std::optional<model::Bytes> bytes_of_gtt(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!base::is_digit(text[at]) || (at > 0 && (base::is_digit(text[at - 1]) || text[at - 1] == '.'))) continue;
    const std::size_t end = text.find_first_not_of("0123456789.", at);
    if (end == std::string_view::npos) return std::nullopt;
    const auto amount = base::parse_number<double>(text.substr(at, end - at));
    const double unit = text[end] == 'M' ? 0x1p20 : text[end] == 'G' ? 0x1p30 : 0;
    if (amount && unit > 0 && *amount > 0 && *amount < 1e7)
      return model::Bytes(static_cast<std::int64_t>(*amount * unit));
  }
  return std::nullopt;
}

// "Mem:  125Gi  18Gi  101Gi" of free
Size free_on_host(const Scene& scene) {
  for (const model::HostInfo& info : scene.texts.host) {
    if (info.kind != model::HostTable::kFree && info.kind != model::HostTable::kMeminfo) continue;
    for (const std::string_view name : {"available", "free"}) {
      const auto size = std::ranges::find(info.sizes, name, &model::NamedBytes::name);
      if (size != info.sizes.end()) return size->bytes;
    }
  }
  return std::nullopt;
}

// A GPU that shares the host's memory has as much as Linux lets it map, and the driver says how much that is.
bool look_at_limit_of_pages(const Scene& scene, Draft& draft) {
  const Size& total = scene.terms.total;
  if (!total) return false;
  for (const model::Remarkable& remark : scene.texts.remarks) {
    const auto limit = remark.kind == model::SentenceKind::kGttLimit ? bytes_of_gtt(remark.at.text) : std::nullopt;
    if (!limit || std::abs(share(total->value, *limit) - 1) > 0.03) continue;
    draft.weigh(0.88).title("The GPU may map no more of the host's memory than its driver's limit (GTT)");
    draft.because(remark.at, fmt::format("the driver lets it map {}, and the job sees {}", show(*limit), show(total)));
    if (const Size free = free_on_host(scene)) draft.because(fmt::format("the host has {} free", show(free)));
    offer_more_pages(draft);
    offer_smaller_batch(scene, draft);
    return true;
  }
  return false;
}

// What llama.cpp asked for or had laid out is more than the driver maps: it prints no total of the card.
bool look_at_pages_of_llama(const Scene& scene, Draft& draft) {
  if (scene.terms.total) return false;
  const model::ForeignDump* refused = nullptr;
  Bytes requested, laid_out;
  for (const model::ForeignDump& dump : scene.texts.foreign) {
    if (dump.program != "llama.cpp" || mentions(dump.at.text, {"cpu"})) continue;
    for (const model::NamedBytes& size : dump.sizes) {
      if (size.name == "weights" || size.name == "kv_cache") laid_out += size.bytes.value;
      if (size.name != "requested" || size.bytes.value <= requested) continue;
      requested = size.bytes.value;
      refused = &dump;
    }
  }
  if (refused == nullptr) return false;
  const model::Remarkable* limited = nullptr;
  Bytes limit, own_memory;
  for (const model::Remarkable& remark : scene.texts.remarks) {
    if (remark.kind == model::SentenceKind::kDriverVram)
      own_memory = std::max(own_memory, bytes_of_driver(remark.at.text).value_or(Bytes(0)));
    const auto told = remark.kind == model::SentenceKind::kGttLimit ? bytes_of_gtt(remark.at.text) : std::nullopt;
    if (!told) continue;
    limited = &remark;
    limit = *told;
  }
  // A card with as much memory of its own is no GPU that shares the host's.
  const Bytes needed = std::max(requested, laid_out);
  if (limited == nullptr || needed <= limit || own_memory >= limit) return false;
  draft.weigh(own_memory.count() > 0 ? 0.82 : 0.75);
  draft.title("The GPU may map no more of the host's memory than its driver's limit (GTT)");
  draft.because(limited->at, fmt::format("the driver lets it map {}", show(limit)));
  draft.because(refused->at, fmt::format("{} were asked for in one buffer{}", show(requested),
                                         laid_out > requested ? ", " + show(laid_out) + " in all" : ""));
  if (const Size free = free_on_host(scene)) draft.because(fmt::format("the host has {} free", show(free)));
  offer_more_pages(draft);
  draft.fix({"Put fewer layers on the GPU", "-ngl LAYERS  # llama.cpp; in Ollama: PARAMETER num_gpu LAYERS",
             std::nullopt, "layers on the CPU are slow", Applicability::kFillIn});
  return true;
}

void find_mig_or_partition(const Scene& scene, Draft& draft) {
  if (look_at_limit_of_pages(scene, draft) || look_at_pages_of_llama(scene, draft)) return;
  const Size& total = scene.terms.total;
  for (const model::GpuStatus& status : scene.texts.gpu_status) {
    for (const model::GpuCard& card : status.cards) {
      const bool enabled = mentions(card.mig_mode, {"enabled"}) || mentions(card.name, {" mig "});
      const auto whole = card.total ? std::optional(card.total->value) : memory_of(scene.given.cards, card.name);
      if (total && whole && enabled && share(total->value, *whole) < 0.7) {
        draft.weigh(0.92).because(
            card.at, fmt::format("{} in MIG mode has {}, the job sees {}", card.name, show(*whole), show(total)));
      } else if (enabled && !status.slices.empty() && scene.has_failure()) {
        draft.weigh(0.7).because(card.at, "the card is partitioned (MIG)");
      } else if (const auto nominal = memory_of(scene.given.cards, card.name);
                 nominal && total && share(total->value, *nominal) < 0.6 && status.cards.size() == 1) {
        draft.weigh(0.8).because(card.at,
                                 fmt::format("a {} has {}, the job sees {}", card.name, show(*nominal), show(total)));
      }
    }
  }
  if (const model::Remarkable* limit = find_remark(scene, model::SentenceKind::kVgpuLimit); limit != nullptr) {
    draft.weigh(0.86).title("The pod has a share of the card, and has used it up");
    draft.because(limit->at, "a layer between the job and the driver holds it to its share (vGPU)");
    draft.fix({"Ask for a larger share", "resources: limits: nvidia.com/gpumem: MIB", std::nullopt, "none",
               Applicability::kFillIn});
    offer_smaller_batch(scene, draft);
    return;
  }
  for (const model::Remarkable& remark : scene.texts.remarks) {
    if (remark.kind != model::SentenceKind::kDriverVram || !total) continue;
    const auto shown = bytes_of_driver(remark.at.text);
    if (!shown || share(total->value, *shown) >= 0.6) continue;
    draft.weigh(0.9).title("The job is shown a part of the memory that the driver has for this GPU");
    draft.because(remark.at, fmt::format("the driver has {} ready, the job sees {}", show(*shown), show(total)));
    draft.fix(
        {"Where the GPU shares the host's memory (an APU: Strix Halo): see what it may map, and raise it",
         "cat /sys/class/drm/card*/device/mem_info_{vram,gtt}_total  # then the firmware's share for graphics, or "
         "ttm.pages_limit=PAGES on the kernel's command line, and a ROCm that knows this GPU",
         std::nullopt, "none: a reboot", Applicability::kMayBeWrong});
    return;
  }
  for (const model::SettingSeen& seen : scene.texts.settings) {
    if (mentions(seen.value, {"mig-"}) && scene.oom != nullptr) {
      draft.weigh(0.85).because(seen.at, "a slice of a card was chosen");
    }
    if (seen.name == "platform" && seen.value == "mig" && total && total->value < Bytes::gib(48)) {
      draft.weigh(0.85).because(seen.at,
                                fmt::format("the card is cut into slices (MIG), and the job sees {}", show(total)));
    }
    if (!mentions(seen.name, {"gpu_name", "device_name", "gpu", "card"})) continue;
    const auto nominal = memory_of(scene.given.cards, seen.value);
    if (nominal && total && share(total->value, *nominal) < 0.6) {
      draft.weigh(0.88).because(seen.at, fmt::format("that card has {}, the job sees {}", show(*nominal), show(total)));
    }
  }
  if (scene.oom != nullptr && draft.is_empty() && is_slice_sized(total)) {
    draft.weigh(0.4).because(scene.oom_line(),
                             fmt::format("a total of {} is what a slice of a partitioned card has", show(total)));
    draft.confirm("nvidia-smi -L: it lists MIG slices");
  }
  if (draft.is_empty()) return;
  draft.fix({"Ask for a larger slice or a whole card", "nvidia-smi mig -lgip  # then the scheduler's name for it",
             std::nullopt, "none", Applicability::kFillIn});
  offer_fit(scene, draft);
}

}  // namespace

const Cause kMigOrPartition{
    "VF703",
    "mig_or_partition",
    "The job has a slice of the card, not the whole of it",
    "the total in the message is far below what a card of that name has; MIG mode in nvidia-smi",
    "The card is partitioned (MIG, vGPU, a scheduler's share), and the job sees only its slice. The name of the card "
    "does "
    "not say so; the total in the message does.",
    "A larger slice or a whole card, or a job that fits the slice.",
    find_mig_or_partition};

}  // namespace vramfit::doctor
