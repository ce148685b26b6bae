#include "views/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "history/compare.h"
#include "ingest/snapshot/reader.h"
#include "ingest/stored_diagnosis.h"
#include "ingest/stored_result.h"
#include "ingest/stored_sweep.h"
#include "report/page/page.h"
#include "views/confidential.h"
#include "views/flames.h"
#include "views/sweep_facts.h"
#include "views/trace/build.h"

namespace vramfit::views {

using report::page::OwnerTotal;
using report::page::ShownRun;

namespace {

std::vector<OwnerTotal> add_up(const std::vector<model::OwnerRow>& rows) {
  std::map<std::pair<int, std::string>, OwnerTotal> totals;
  for (const model::OwnerRow& row : rows) {
    OwnerTotal& total = totals[{row.device, row.owner}];
    total.owner = row.owner;
    total.device = row.device;
    total.bytes = total.bytes + row.bytes;
    total.blocks += row.blocks;
  }
  std::vector<OwnerTotal> sorted;
  for (auto& [key, total] : totals) sorted.push_back(std::move(total));
  std::ranges::stable_sort(sorted, [](const OwnerTotal& left, const OwnerTotal& right) {
    return left.device != right.device ? left.device < right.device : left.bytes > right.bytes;
  });
  return sorted;
}

// Plans that fit and that the search found on the front, quickest first.
std::vector<std::size_t> find_on_front(const model::FitResult& fit) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < fit.plans.size(); ++i) {
    const auto is_same = [&](const model::PlanRow& row) { return row.plan.changes == fit.plans[i].plan.changes; };
    if (std::ranges::any_of(fit.front, is_same)) found.push_back(i);
  }
  std::ranges::stable_sort(found, {}, [&](std::size_t i) { return fit.plans[i].time_factor; });
  return found;
}

// A link to the part of the page about this run, or to a page of its own.
std::string link_to(std::int64_t number, const std::vector<model::StoredRun>& shown, const std::string& home) {
  if (std::ranges::find(shown, number, &model::StoredRun::number) != shown.end()) return fmt::format("#run-{}", number);
  return home.empty() || number == 0 ? "" : fmt::format("{}runs/{}", home, number);
}

// A sweep's and a diagnosis' results are not those of a run. False: it is another verb's.
bool take_other_result(ShownRun& facts, const std::vector<model::StoredRun>& shown, const ReportRequest& request) {
  const model::StoredRun& stored = facts.stored;
  if (stored.start.verb == "sweep") {
    if (auto sweep = ingest::read_stored_sweep(stored.end.result)) {
      facts.sweep = build_sweep_facts(std::move(*sweep), request.find_run);
      for (auto& run : facts.sweep->runs) run.link = link_to(run.number, shown, request.home);
    }
  } else if (stored.start.verb == "doctor") {
    if (auto diagnosis = ingest::read_stored_diagnosis(stored.end.result)) facts.diagnosis = std::move(*diagnosis);
  } else {
    return false;
  }
  if (!facts.sweep && !facts.diagnosis) {
    facts.unreadable = "What this run stored can't be read, so only the history's own tables are shown.";
  }
  return true;
}

ShownRun build_facts(const model::StoredRun& stored, const std::vector<model::StoredRun>& shown,
                     const ReportRequest& request) {
  ShownRun facts{.stored = stored};
  if (stored.end.result.empty()) return facts;
  if (take_other_result(facts, shown, request)) return facts;
  auto read = ingest::read_stored_result(stored.end.result);
  if (!read) {
    facts.unreadable = "What this run stored is not a run's result, so only the history's own tables are shown.";
    return facts;
  }
  facts.owners = add_up(read->run.owners_at_peak);
  if (read->fit) facts.front = find_on_front(*read->fit);
  facts.result = std::move(read->run);
  facts.fit = std::move(read->fit);
  return facts;
}

report::page::PageFacts build_page(std::vector<model::StoredRun> runs, const ReportRequest& request) {
  report::page::PageFacts facts{
      .is_confidential = request.is_confidential, .version = request.version, .home = request.home};
  for (const model::StoredRun& run : runs) facts.runs.push_back(build_facts(run, runs, request));
  if (runs.size() > 1) facts.comparison = history::compare(std::move(runs));
  if (request.is_confidential) make_confidential(facts);
  for (ShownRun& run : facts.runs) {
    if (run.result) run.flames = build_flames(*run.result);
  }
  return facts;
}

void tell_damage(const std::filesystem::path& file, const model::Snapshot& snapshot, const ReportRequest& request) {
  if (request.damage == nullptr) return;
  if (snapshot.truncated_at) {
    request.damage->push_back(fmt::format("{}: only what stands before byte {} could be read: {}", file.string(),
                                          *snapshot.truncated_at, snapshot.damage));
  }
  for (const auto& [what, unread] : snapshot.unread) {
    if (unread.weight != model::LossSeverity::kWrongAnswerPossible) continue;
    request.damage->push_back(
        fmt::format("{}: not read, so the page may be wrong: {} ({} times)", file.string(), what, unread.count));
  }
}

}  // namespace

std::string build_report(std::vector<model::StoredRun> runs, const ReportRequest& request) {
  return page_to_html(build_page(std::move(runs), request));
}

base::Result<std::string> build_report(std::vector<model::StoredRun> runs,
                                       const std::vector<std::filesystem::path>& snapshots,
                                       const ReportRequest& request, base::ProgressSink& progress) {
  report::page::PageFacts facts = build_page(std::move(runs), request);
  report_trace::TraceRequest traced{.is_confidential = request.is_confidential};
  traced.budget = report_trace::share(traced.budget, std::max<std::size_t>(snapshots.size(), 1));
  for (const std::filesystem::path& file : snapshots) {
    progress.update("reading " + file.filename().string());
    const auto snapshot = ingest::read_snapshot(file);
    if (!snapshot) return std::unexpected(snapshot.error());
    tell_damage(file, *snapshot, request);
    traced.name = file.filename().string();
    facts.traces.push_back(report_trace::build_trace(*snapshot, traced, progress));
  }
  return page_to_html(facts);
}

}  // namespace vramfit::views
