#include <fmt/format.h>

#include <algorithm>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

constexpr double kNonsenseTimes = 100;                          // times what the card has
constexpr std::int64_t kNonsenseBytes = std::int64_t{1} << 46;  // 64 TiB: no card and no host has that

// A size that another rank was to send is whatever lay there, where the call that should have brought it timed out.
void look_at_timeout(const Scene& scene, Draft& draft) {
  constexpr double kFollows = 0.6;
  const auto tells = [&](const std::string& text) {
    return mentions(text, {"timed out", "timeout"}) &&
           mentions(text, {"nccl", "collective", "broadcast", "allreduce", "all_reduce", "allgather", "all_gather"});
  };
  const model::SourceLine* at = nullptr;
  for (const model::LibraryError& error : scene.texts.library_errors) {
    if (at == nullptr && tells(error.at.text)) at = &error.at;
  }
  for (const model::TextFile& file : scene.texts.files) {
    if (at == nullptr && file.not_understood && tells(file.not_understood->text)) at = &*file.not_understood;
  }
  if (at == nullptr) return;
  draft.bound(kFollows);
  draft.because(*at, "and a collective call timed out: what it should have brought, a size too, is left undefined");
  draft.fix({"Find out first which rank did not take part in that call: what comes after it follows from it",
             "NCCL_DEBUG=INFO TORCH_NCCL_DESYNC_DEBUG=1 torchrun ...", std::nullopt, "none", Applicability::kAsIs});
}

// What the last failure of a snapshot asked for, beside what the process could have got.
void look_at_failed_size(const Scene& scene, Draft& draft) {
  constexpr Bytes kLessThanAnyCard = Bytes::gib(3);  // others hold the rest: then it is no measure
  if (scene.oom != nullptr || scene.has_run()) return;
  for (const SnapshotFacts& facts : scene.snapshots) {
    if (!facts.failed_size) continue;
    const bool absurd = facts.failed_size->count() >= kNonsenseBytes;
    const double times = share(*facts.failed_size, facts.in_reach());
    if (!absurd && (times < kNonsenseTimes || facts.in_reach() < kLessThanAnyCard)) continue;
    draft.weigh(0.95).because(
        model::SourceLine{facts.file, 0, ""},
        fmt::format("{} asked for{}, {:.0f} times the {} that it had and could have got", show(*facts.failed_size),
                    facts.failed_line.empty() ? "" : " at " + facts.failed_line, times, show(facts.in_reach())));
    return;
  }
}

void find_size_computation_bug(const Scene& scene, Draft& draft) {
  look_at_failed_size(scene, draft);
  for (const model::OomMessage& oom : scene.texts.ooms) {
    const bool exabyte = oom.form == model::OomForm::kMoreThanExabyte;
    const bool absurd = oom.tried && oom.tried->value.count() >= kNonsenseBytes;
    const bool far = share(oom.tried, oom.total) >= kNonsenseTimes;
    if (!exabyte && !absurd && !far) continue;
    draft.weigh(0.95);
    draft.because(oom.at,
                  exabyte || !oom.total
                      ? fmt::format("{} asked for: no machine has that", oom.tried ? show(oom.tried) : "over 1 EB")
                      : fmt::format("{} asked for, {:.0f} times the card's {}", show(oom.tried),
                                    share(oom.tried, oom.total), show(oom.total)));
    break;
  }
  for (const model::ForeignDump& dump : scene.texts.foreign) {
    const auto asked = std::find_if(dump.sizes.begin(), dump.sizes.end(), [](const model::NamedBytes& size) {
      return size.name == "requested" && size.bytes.value.count() >= kNonsenseBytes;
    });
    if (asked == dump.sizes.end()) continue;
    draft.weigh(0.95).because(
        dump.at, fmt::format("{} was asked for {}: no machine has that", dump.program, show(asked->bytes)));
    break;
  }
  for (const model::TracedException* exception : scene.chain) {
    if (!mentions(exception->message, {"storage size calculation overflowed", "negative dimension", "more than 1eb",
                                       "numel: integer multiplication overflow"})) {
      continue;
    }
    draft.weigh(0.9).because(
        model::SourceLine{scene.texts.tracebacks.front().at.file, exception->last_line, exception->message},
        "a size that cannot be");
  }
  // The same where nobody pasted a traceback.
  for (const model::SourceLine& error : scene.texts.other_errors) {
    if (draft.is_empty() && mentions(error.text, {"storage size calculation overflowed"}))
      draft.weigh(0.9).because(error, "a size that cannot be");
  }
  for (const model::Remarkable& remark : scene.texts.remarks) {
    if (remark.kind != model::SentenceKind::kAllocatorAssert || !mentions(remark.at.text, {"p.block != nullptr"}))
      continue;
    draft.weigh(0.6).because(remark.at, "the allocator fails so when the size asked for overflows its arithmetic");
  }
  if (draft.is_empty()) return;
  look_at_timeout(scene, draft);
  if (scene.stack.innermost_own() != nullptr) draft.because(*scene.stack.innermost_own(), "the size is computed here");
  draft.fix(
      {"Check the numbers that make this size before the call: an index taken as a length, an uninitialised or "
       "overflowed integer, a float infinity cast to int",
       "assert 0 < size < LIMIT, size", std::nullopt, "none", Applicability::kFillIn});
}

}  // namespace

const Cause kSizeComputationBug{
    "VF110",
    "size_computation_bug",
    "The size asked for is nonsense",
    "a request of 100 times the card or more, or the text \"more than 1EB\"",
    "The request is so large that it comes from a wrong number: a garbage length read from a file, an overflow, a "
    "wrong "
    "dimension, indices used as sizes. Less memory use elsewhere cannot help.",
    "Find the number: print the sizes at the failing line, and on the CPU run with the same input.",
    find_size_computation_bug};

}  // namespace vramfit::doctor
