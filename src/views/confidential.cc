#include "views/confidential.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace vramfit::views {

using report::page::PageFacts;
using report::page::ShownRun;

namespace {

constexpr std::string_view kLeftOut = "[left out]";

// Slashes that stand in units and in our own texts.
constexpr std::array<std::string_view, 3> kHarmless = {"GiB/s", "MiB/s", "and/or"};

bool looks_like_path(std::string_view word) {
  if (std::ranges::find(kHarmless, word) != kHarmless.end()) return false;
  if (word.find('/') != std::string_view::npos || word.find('\\') != std::string_view::npos) return true;
  for (const std::string_view ending : {".py", ".ipynb", ".sh", ".json", ".toml", ".yaml", ".yml", ".pt", ".pth"}) {
    const std::size_t at = word.find(ending);
    if (at == std::string_view::npos || at == 0) continue;
    const std::size_t behind = at + ending.size();
    if (behind == word.size() || word[behind] == ':' || word[behind] == '"' || word[behind] == '\'') return true;
  }
  return false;
}

void clean(std::string& text) { text = without_paths(text); }

void clean(std::vector<model::Remark>& remarks) {
  for (model::Remark& remark : remarks) clean(remark.text);
}

void clean(std::vector<std::string>& texts) {
  for (std::string& text : texts) clean(text);
}

void clean(model::RunResult& result) {
  clean(result.reason);
  for (model::OwnerRow& row : result.owners_at_peak) {
    clean(row.name);  // a module's stays: it has no slash
    row.line.clear();
  }
  result.lines_at_peak.clear();
  for (model::TimelinePoint& point : result.timeline) point.mark.clear();
  if (result.oom) {
    result.oom->message.clear();
    result.oom->stack.clear();
  }
  if (result.error) {
    // The reason of a failed run quotes its error.
    result.reason = result.error->type;
    result.error->message.clear();
    result.error->stack.clear();
    clean(result.error->remedy);
  }
  clean(result.cuts);
  // Code and names of the script's own.
  for (model::Unreached& lines : result.reach.unreached) {
    lines.file.clear();
    lines.place.clear();
    lines.code = kLeftOut;
    lines.when = kLeftOut;
  }
  clean(result.reach.open);
  clean(result.plan_applied);
  clean(result.plan_refused);
  clean(result.plan_promised);
  for (model::DataDependence& read : result.depends_on_data) {
    clean(read.what);
    read.line.clear();
  }
  clean(result.not_modelled);
  clean(result.assumed);
  clean(result.measured);
  clean(result.untested);
  clean(result.warnings);
  for (model::DataLoss& loss : result.losses) clean(loss.detail);
  result.evidence = {};  // names and lines of the script's own, of which no page shows anything
  if (result.files) {
    result.files->entries.clear();
    result.files->read_only.clear();
    result.files->kept.clear();
  }
}

void clean(std::vector<model::PlanRow>& plans) {
  for (model::PlanRow& row : plans) {
    clean(row.plan.name);
    clean(row.consequences);
    clean(row.reason);
  }
}

void clean(model::FitResult& fit) {
  // A job that does not run is told by its error's message.
  if (fit.verdict == model::FitVerdict::kJobFailed) fit.reason = kLeftOut;
  clean(fit.reason);
  if (fit.cause) {
    clean(fit.cause->text);
    clean(fit.cause->remedy);
    fit.cause->line.clear();
  }
  clean(fit.plans);
  clean(fit.lost);
  clean(fit.foreseen);
  clean(fit.front);
  clean(fit.advice);
  if (fit.free_run) clean(*fit.free_run);
  for (model::TechniqueRow& row : fit.techniques) clean(row.reason);
  fit.plan_file.clear();
  fit.prove_command.clear();
  fit.patch_command.clear();
  fit.train_command.clear();
}

void clean(model::Diagnosis& diagnosis) {
  clean(diagnosis.verdict);
  diagnosis.failed_at.reset();
  for (model::Finding& finding : diagnosis.findings) {
    clean(finding.title);
    clean(finding.would_confirm);
    for (model::EvidenceItem& item : finding.evidence) {
      item.file.clear();
      item.text.clear();
      clean(item.reasoning);
    }
    for (model::Fix& fix : finding.fixes) {
      clean(fix.what);
      fix.command.clear();
    }
    for (model::Withheld& left : finding.withheld) {
      clean(left.what);
      clean(left.why);
    }
  }
  for (model::Check& check : diagnosis.checks) clean(check.text);
  clean(diagnosis.give);
  // Both name the files.
  diagnosis.read.clear();
  diagnosis.warnings.clear();
}

// Values that look like paths give way to their ordinals: trials are told apart by them.
void clean(model::SweepResult& sweep) {
  for (std::size_t i = 0; i < sweep.spec.variables.size(); ++i) {
    std::vector<std::string>& values = sweep.spec.variables[i].values;
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (without_paths(values[k]) == values[k]) continue;
      const std::string replaced = fmt::format("{} {}", kLeftOut, k + 1);
      for (model::Trial& trial : sweep.trials) {
        if (i < trial.values.size() && trial.values[i] == values[k]) trial.values[i] = replaced;
      }
      for (model::Largest& largest : sweep.largest) {
        if (i < largest.values.size() && largest.values[i] == values[k]) largest.values[i] = replaced;
      }
      values[k] = replaced;
    }
    clean(sweep.spec.variables[i].name);
  }
  sweep.spec.command.clear();
  sweep.folder.clear();
  for (model::Trial& trial : sweep.trials) {
    if (trial.result.verdict == "failed") trial.result.reason = kLeftOut;
    clean(trial.result.reason);
  }
  for (model::Largest& largest : sweep.largest) {
    if (!largest.obstacle.empty()) largest.obstacle = kLeftOut;
  }
}

void clean(model::StoredRun& run) {
  run.start.command.clear();
  run.start.folder.clear();
  run.start.script.clear();
  run.start.script_hash.clear();
  run.start.host.clear();
  run.start.git.branch.clear();
  run.start.plan.clear();
  run.note.clear();
  if (run.end.verdict == "failed") run.end.reason = kLeftOut;
  clean(run.end.reason);
  for (model::StoredFinding& finding : run.end.findings) clean(finding.text);
}

}  // namespace

std::string without_paths(std::string_view text) {
  static constexpr std::string_view kBetween = " \t\n(),;";
  std::string kept;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(kBetween), text.size());
    const std::string_view word = text.substr(0, end);
    kept += looks_like_path(word) ? kLeftOut : word;
    if (end < text.size()) kept += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return kept;
}

void make_confidential(PageFacts& facts) {
  for (ShownRun& run : facts.runs) {
    clean(run.stored);
    if (run.result) clean(*run.result);
    if (run.fit) clean(*run.fit);
    if (run.sweep) clean(run.sweep->result);
    if (run.diagnosis) clean(*run.diagnosis);
  }
  if (!facts.comparison) return;
  for (model::StoredRun& run : facts.comparison->runs) clean(run);
  std::erase_if(facts.comparison->differences, [](const model::Difference& difference) {
    constexpr std::array kKept = {"verb", "git", "card", "torch", "cuda", "python", "vramfit", "verdict"};
    return std::ranges::find(kKept, difference.what) == kKept.end();
  });
}

}  // namespace vramfit::views
