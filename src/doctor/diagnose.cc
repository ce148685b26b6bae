#include "doctor/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "doctor/all_clear.h"
#include "doctor/cause.h"
#include "doctor/checks.h"
#include "doctor/failure.h"
#include "doctor/handled.h"
#include "doctor/leak.h"
#include "doctor/likeness_finding.h"
#include "doctor/not_run.h"
#include "doctor/outside_pytorch.h"
#include "doctor/scene.h"
#include "liveness/growth.h"

namespace vramfit::doctor {

namespace {

using model::Diagnosis;
using model::Finding;
using model::Severity;

constexpr double kFounded = 0.35;  // from here on "can't tell" is not said
constexpr double kSure = 0.8, kProbable = 0.5;

bool speaks_of_trouble(const Scene& scene) {
  const model::Evidence& texts = scene.texts;
  return scene.has_failure() || find_remark(scene, model::SentenceKind::kToldMemoryCured) != nullptr ||
         !texts.oom_mentions.empty() || !texts.memory_words.empty() ||
         std::ranges::any_of(texts.told, [](const model::ToldSentence& told) {
           return told.kind == model::ToldKind::kTrouble || told.kind == model::ToldKind::kRises;
         });
}

// What cured it, or what alone fails, tells the cause, whatever the message's numbers would let one suppose.
void weigh_what_is_told(const Scene& scene, const Cause& cause, Draft& draft) {
  if (scene.has_run()) return;  // a run shows it, whoever says what
  const auto& remarks = scene.texts.remarks;
  const auto named = std::ranges::find_if(
      remarks, [&](const model::Remarkable& remark) { return model::cause_named_by(remark.kind) == cause.label; });
  if (named != remarks.end() && speaks_of_trouble(scene))
    draft.weigh(0.84).because(named->at, "who wrote this names it, or what cured it");
}

std::vector<Finding> look_for_all(const Scene& scene) {
  std::vector<Finding> findings;
  for (const Cause* cause : all_causes()) {
    Draft draft;
    weigh_what_is_told(scene, *cause, draft);
    cause->look(scene, draft);
    if (draft.is_empty()) continue;
    Finding finding = draft.take();
    finding.code = cause->code;
    finding.label = cause->label;
    if (finding.title.empty()) finding.title = cause->title;
    findings.push_back(std::move(finding));
  }
  return findings;
}

// Most probable first; equal ones in the order of their codes, which is that of the cheaper rule.
void rank(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.confidence > b.confidence; });
  const bool founded = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.label != "unknown" && finding.confidence >= kFounded;
  });
  if (founded) std::erase_if(findings, [](const Finding& finding) { return finding.label == "unknown"; });
}

// A possibility is not an error: only what is probable is.
void set_severities(const Scene& scene, std::vector<Finding>& findings) {
  for (Finding& finding : findings) {
    if (finding.severity != Severity::kError) continue;
    if (finding.confidence < kProbable) finding.severity = Severity::kNote;
    if (finding.confidence >= kProbable && !scene.has_failure()) finding.severity = Severity::kWarning;
  }
}

std::string how_sure(double confidence) {
  return confidence >= kSure ? "" : confidence >= kProbable ? "probably: " : "perhaps: ";
}

std::string lower_first(std::string text) {
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1]))) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  return text;
}

std::string in_short(const std::string& text) {
  constexpr std::size_t kMost = 120;
  std::string line = text.substr(0, text.find('\n'));
  if (line.size() <= kMost) return line;
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
  return line.substr(0, end) + "...";
}

std::string verdict_of(const Scene& scene, const std::vector<Finding>& findings) {
  if (findings.empty()) {
    if (scene.has_run() && !scene.runtime().growth.empty() &&
        follows_its_inputs(scene.runtime().growth.front(), scene)) {
      return "All well: the script ran and nothing ran out of memory. What a step needs rises with its batches: "
             "whether the largest of them was among those that were seen, only the data tell.";
    }
    if (scene.has_run() && !scene.runtime().growth.empty()) {
      return "The script ran and nothing ran out of memory, but " +
             liveness::describe_growth(scene.runtime().growth.front()) + ".";
    }
    const std::int64_t steps = scene.runtime().judged_steps;
    if (scene.has_run() && steps > 0 && scene.was_cut_within(steps + 1)) {
      return fmt::format(
          "All well: the script ran, nothing ran out of memory, nothing grew over the {} steps before the "
          "first cut.",
          steps);
    }
    if (scene.has_run()) return "All well: the script ran, nothing ran out of memory, nothing grows.";
    if (const auto other = find_other_failure(scene)) {
      return fmt::format("No trouble with memory: what failed is another error: {} ({}:{}).{}", in_short(other->text),
                         other->file, other->line,
                         scene.lacks_open_files() ? " The limit of open files was met: `ulimit -n 65536`, or "
                                                    "torch.multiprocessing.set_sharing_strategy(\"file_system\")."
                                                  : "");
    }
    if (const auto got_over = find_got_over(scene)) {
      return fmt::format(
          "All well: memory ran out at {}:{}, and the program got over it; nothing else in what was read says so.",
          got_over->file, got_over->line);
    }
    for (const auto& [kind, name] : {std::pair(model::TextKind::kDocument, "a document or a proposal"),
                                     std::pair(model::TextKind::kQuestion, "a question")}) {
      if (!scene.texts.files.empty() &&
          std::ranges::all_of(scene.texts.files, [&](const model::TextFile& file) { return file.kind == kind; }))
        return fmt::format("All well: this is {}, and nothing failed in it.", name);
    }
    return "All well: nothing in what was read says that memory ran out.";
  }
  const Finding& first = findings.front();
  if (first.label == "unknown") return fmt::format("Can't tell from this ({}). {}.", first.code, first.title);
  std::string verdict =
      how_sure(first.confidence) + (first.confidence >= kSure ? first.title : lower_first(first.title));
  verdict[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(verdict[0])));
  verdict += fmt::format(" ({} {}, {:.0f}%).", first.code, first.label, first.confidence * 100);
  if (first.confidence < kProbable && findings.size() > 1 && findings[1].label != "unknown") {
    verdict += fmt::format(" It may as well be {} ({:.0f}%).", findings[1].label, findings[1].confidence * 100);
  }
  return verdict;
}

// The line where the failure that is explained happened: a log may have other tracebacks too.
std::optional<model::FailedAt> find_failed_at(const Scene& scene, const Diagnosis& diagnosis) {
  const bool of_memory = scene.oom != nullptr || scene.run_failed_for_memory() ||
                         std::ranges::any_of(scene.chain, [](const model::TracedException* exception) {
                           return is_about_memory(*exception);
                         });
  if (diagnosis.trouble ? !of_memory : !diagnosis.other_failure) return std::nullopt;
  const StackEntry* entry = scene.stack.innermost_own();
  if (entry == nullptr || entry->frame.file.empty()) return std::nullopt;
  return model::FailedAt{entry->frame.file, entry->frame.line, entry->frame.function, entry->frame.code};
}

void add_once(std::vector<std::string>& list, const std::string& text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

// Nothing grows, and yet a card that is nearly full may be filled by what waits.
void warn_of_cycles(const model::RuntimeEvidence& runtime, Diagnosis& diagnosis) {
  if (!runtime.collector || runtime.collector->freed < model::Bytes::mib(1)) return;
  diagnosis.warnings.push_back(fmt::format(
      "cycles of objects held up to {} until Python's collector came{}: gc.collect() now and then keeps them "
      "from filling a card",
      show(runtime.collector->freed),
      runtime.collector->line.empty() ? "" : ", most of it made at " + runtime.collector->line));
}

void describe_sources(const Case& given, Diagnosis& diagnosis) {
  for (const model::TextFile& file : given.texts.files) {
    diagnosis.read.push_back(fmt::format("{}: {} lines of text ({})", file.name, file.lines, file.encoding));
    if (!file.complete) diagnosis.warnings.push_back(file.name + ": a limit ended the reading");
  }
  for (const auto& [what, count] : given.texts.unread)
    diagnosis.warnings.push_back(fmt::format("{} ({} times)", what, count));
  for (const SnapshotFile& file : given.snapshots) {
    diagnosis.read.push_back(
        fmt::format("{}: a memory snapshot of {} segments", file.file, file.snapshot.segments.size()));
    if (file.snapshot.truncated_at) {
      diagnosis.warnings.push_back(
          fmt::format("{}: damaged at byte {}: {}", file.file, *file.snapshot.truncated_at, file.snapshot.damage));
    }
  }
  if (given.run) {
    diagnosis.read.push_back(fmt::format("the run of {}: {}", given.command, to_string(given.run->verdict)));
    if (given.run->verdict == model::Verdict::kFailed) {
      diagnosis.warnings.push_back("the script failed for another reason than memory: " + given.run->reason);
    }
    std::ranges::copy(given.run->untested, std::back_inserter(diagnosis.warnings));
    warn_of_cycles(given.run->evidence, diagnosis);
  }
}

// A healthy log clears itself, and not the script that lies beside it.
void tell_what_was_not_run(const Scene& scene, Diagnosis& diagnosis) {
  if (diagnosis.trouble) return;
  for (const model::TextFile& file : scene.texts.files) {
    if (const auto it = find_not_run(scene, file))
      diagnosis.warnings.push_back(fmt::format("{} is {}, and it was not run: {}", file.name, it->what, it->command));
  }
}

void add_fact(Diagnosis& diagnosis, const std::string& name, model::Bytes bytes, const std::string& file) {
  diagnosis.facts.push_back({name, model::exactly(bytes), std::nullopt, {file, 0, ""}});
}

void collect_facts(const Scene& scene, Diagnosis& diagnosis) {
  diagnosis.facts = scene.texts.facts;
  for (const SnapshotFacts& facts : scene.snapshots) {
    add_fact(diagnosis, "snapshot.reserved", facts.reserved, facts.file);
    add_fact(diagnosis, "snapshot.allocated", facts.allocated, facts.file);
    add_fact(diagnosis, "snapshot.active", facts.active, facts.file);
    add_fact(diagnosis, "snapshot.idle", facts.idle, facts.file);
    add_fact(diagnosis, "snapshot.idle_in_private_pools", facts.idle_in_private, facts.file);
    add_fact(diagnosis, "snapshot.largest_idle_block", facts.largest_idle, facts.file);
    if (facts.failed_size) add_fact(diagnosis, "snapshot.failed_size", *facts.failed_size, facts.file);
    if (facts.device_free) add_fact(diagnosis, "snapshot.device_free", *facts.device_free, facts.file);
  }
  if (!scene.has_run()) return;
  for (const model::DeviceResult& device : scene.run()->devices) {
    const std::string name = fmt::format("run.card.{}.", device.index);
    add_fact(diagnosis, name + "total", device.total, "the run");
    add_fact(diagnosis, name + "peak_allocated", device.peaks.allocated, "the run");
    add_fact(diagnosis, name + "peak_reserved", device.peaks.reserved, "the run");
    add_fact(diagnosis, name + "peak_device", device.peaks.device, "the run");
    add_fact(diagnosis, name + "context", device.context, "the run");
  }
}

}  // namespace

std::vector<Finding> ask_rules(const Scene& scene) {
  std::vector<Finding> findings = look_for_all(scene);
  rank(findings);
  return findings;
}

Diagnosis diagnose(const Case& given) {
  const Scene scene(given);
  Diagnosis diagnosis;
  diagnosis.findings = ask_rules(scene);
  ask_known_texts(scene, diagnosis.findings);
  set_severities(scene, diagnosis.findings);
  diagnosis.trouble = scene.has_failure() || !diagnosis.findings.empty();
  diagnosis.other_failure = !diagnosis.trouble && !scene.has_run() && find_other_failure(scene);
  diagnosis.failed_at = find_failed_at(scene, diagnosis);
  diagnosis.verdict = verdict_of(scene, diagnosis.findings);
  diagnosis.checks = make_checks(scene, diagnosis.findings);
  if (!diagnosis.findings.empty() && diagnosis.findings.front().confidence < kSure) {
    for (std::size_t i = 0; i < std::min<std::size_t>(2, diagnosis.findings.size()); ++i) {
      for (const std::string& what : diagnosis.findings[i].would_confirm) add_once(diagnosis.give, what);
    }
  }
  describe_sources(given, diagnosis);
  tell_what_was_not_run(scene, diagnosis);
  collect_facts(scene, diagnosis);
  if (!scene.has_run())
    diagnosis.outside_pytorch = find_outside_pytorch(given);  // a virtual card only says what it charged
  return diagnosis;
}

}  // namespace vramfit::doctor
