#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

constexpr model::Bytes kContext =
    Bytes::mib(700);            // a context with its kernels takes as much: a gap like that is no riddle
constexpr double kInUse = 0.3;  // GB: Windows itself holds a little of it

// The first figure of "Shared GPU memory 1.5/7.9 GB", as the task manager shows it.
double shared_gigabytes(std::string_view line) {
  const std::string low = lowered(line);
  const std::size_t words = low.find("shared gpu memory");
  if (words == std::string::npos) return 0;
  const std::size_t digit = low.find_first_of("0123456789", words);
  if (digit == std::string::npos) return 0;
  double used = 0;
  const auto [end, error] = std::from_chars(low.data() + digit, low.data() + low.size(), used);
  const std::string_view behind(end, static_cast<std::size_t>(low.data() + low.size() - end));
  const std::size_t slash = behind.find_first_not_of(" gib");
  return error == std::errc() && slash != std::string_view::npos && behind[slash] == '/' ? used : 0;
}

// "only 412 MB VRAM remaining ... because Windows swaps GPU memory to Shared GPU memory": a program warns of it.
bool warns_of_paging(const Scene& scene, const model::SourceLine& at) {
  const bool is_trouble = std::ranges::any_of(scene.texts.memory_words, [&](const model::SourceLine& words) {
    return words.file == at.file && words.line == at.line;
  });
  return is_trouble && mentions(at.text, {"swap", "spill", "paged", "pages ", "falls back", "fell back", "overflow"});
}

void look_at_task_manager(const Scene& scene, Draft& draft) {
  for (const model::Remarkable& remark : scene.texts.remarks) {
    if (remark.kind != model::SentenceKind::kSharedGpuMemory) continue;
    if (shared_gigabytes(remark.at.text) >= kInUse) {
      draft.weigh(0.6).because(remark.at, "host memory that Windows's driver gives the card is in use");
      return;
    }
    if (!warns_of_paging(scene, remark.at)) continue;
    draft.weigh(0.6).because(remark.at, "the program itself warns that the card is full and that the driver pages");
    return;
  }
}

void look_at_told_paging(const Scene& scene, Draft& draft) {
  const model::Remarkable* told = find_remark(scene, model::SentenceKind::kToldSharedGpu);
  if (told == nullptr || scene.platform.rocm) return;
  draft.weigh(0.66).because(told->at, "who wrote this saw host memory in use for the card, and what it costs");
}

void offer_no_spilling(const Scene& scene, Draft& draft) {
  if (draft.is_empty()) return;
  if (scene.platform.seen && (scene.platform.windows || scene.platform.wsl)) {
    draft.because(*scene.platform.seen, "the platform");
  }
  draft.fix({"Keep the driver from spilling into host memory, which is many times slower",
             "NVIDIA control panel: CUDA - Sysmem Fallback Policy: Prefer No Sysmem Fallback", std::nullopt,
             "none: faster", Applicability::kMayBeWrong});
  offer_fit(scene, draft);
  offer_smaller_batch(scene, draft);
}

void find_windows_shared_memory(const Scene& scene, Draft& draft) {
  const Terms& terms = scene.terms;
  look_at_task_manager(scene, draft);
  look_at_told_paging(scene, draft);
  if (scene.oom == nullptr || !terms.total) return offer_no_spilling(scene, draft);
  const Size held = terms.reserved ? terms.reserved : terms.allocated;
  const bool beyond = surely_above(held, terms.total) || surely_above(terms.allocated, terms.total);
  const bool none_free = terms.free && terms.free->high.count() == 0;
  const bool clauses = !scene.oom->processes.empty() || scene.oom->this_process.has_value();
  const double gap = share(terms.outside, terms.total);
  if (beyond) {
    draft.weigh(0.94).because(scene.oom_line(),
                              fmt::format("{} are held of a card of {}: the driver put the rest into host "
                                          "memory, as it does on Windows and WSL",
                                          show(held), show(terms.total)));
  } else if (none_free && !clauses && gap > 0.2 && terms.outside->value > kContext && !scene.platform.rocm) {
    draft.weigh(scene.platform.windows || scene.platform.wsl ? 0.6 : 0.45);
    draft.because(scene.oom_line(),
                  fmt::format("0 bytes are said to be free while PyTorch holds {} of {}, and no process is "
                              "listed: so reports Windows's driver",
                              show(held), show(terms.total)));
  }
  offer_no_spilling(scene, draft);
}

}  // namespace

const Cause kWindowsSharedMemory{"VF701",
                                 "windows_shared_memory",
                                 "Windows's driver pages the card's memory to the host",
                                 "more allocated than the card has; \"0 bytes is free\" without any process listed",
                                 "On Windows and WSL the driver gives out more than the card has and moves pages to "
                                 "host memory. The job becomes many "
                                 "times slower before it fails, and the numbers of free memory mean little.",
                                 "Make the job fit the card's own memory; turn the fallback off to fail early.",
                                 find_windows_shared_memory};

}  // namespace vramfit::doctor
