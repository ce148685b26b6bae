#include "history/run_book.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/clock.h"
#include "base/subprocess.h"
#include "store/place.h"

namespace vramfit::history {

using base::ErrorCode;
using base::Result;

namespace {

constexpr std::int64_t kKeptRuns = 2000;
constexpr std::string_view kInterrupted = "interrupted";

std::int64_t kept_runs() {
  const std::string text = base::value_of(base::current_environment(), "VRAMFIT_KEEP_RUNS");
  char* end = nullptr;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  return !text.empty() && *end == '\0' && number > 0 ? number : kKeptRuns;
}

void complain(const base::Error& error, base::ProgressSink& progress) {
  progress.say(fmt::format("this run is not in the history: {}{}", error.what,
                           error.remedy.empty() ? "" : "\n  " + error.remedy));
}

}  // namespace

Result<store::Store> open_store() {
  const auto path = store::find_store(base::current_environment());
  if (!path) {
    return base::fail(ErrorCode::kNotFound, "no history is kept", "VRAMFIT_STORE",
                      "unset it, or set it to a file; without HOME it has to be set");
  }
  return store::Store::open(*path);
}

RunBook RunBook::begin(const model::RunStart& start, base::ProgressSink& progress) {
  RunBook book;
  if (!store::find_store(base::current_environment())) return book;
  auto store = open_store();
  if (!store) {
    complain(store.error(), progress);
    return book;
  }
  const auto number = store->begin(start, base::unix_now_ms());
  if (!number) {
    complain(number.error(), progress);
    return book;
  }
  static_cast<void>(store->prune(kept_runs()));  // what could not be removed now is removed by a later run
  book.number_ = *number;
  book.store_ = std::move(*store);
  return book;
}

void RunBook::finish(const model::RunEnd& end, base::ProgressSink& progress) {
  if (!store_) return;
  if (const auto done = store_->finish(number_, end, base::unix_now_ms()); !done) {
    complain(done.error(), progress);
    number_ = 0;
  }
}

std::unexpected<base::Error> RunBook::fail(const base::Error& error, base::ProgressSink& progress) {
  constexpr int kToolError = 2;
  model::RunEnd end;
  end.verdict = to_string(model::Verdict::kFailed);
  end.reason = error.what;
  end.exit_code = kToolError;
  if (error.code != ErrorCode::kInterrupted) finish(end, progress);
  return std::unexpected(error);
}

std::string RunBook::uuid() {
  if (!store_ || number_ == 0) return "";
  const auto run = store_->find(number_);
  return run ? run->uuid : "";
}

model::RunEnd summarize(const model::RunResult& result, std::string json) {
  model::RunEnd end;
  end.verdict =
      result.interrupted && result.verdict == model::Verdict::kFailed ? kInterrupted : to_string(result.verdict);
  end.reason = result.oom ? result.oom->message : result.reason;
  end.exit_code = result.exit_code;
  end.wall_seconds = result.wall_seconds;
  end.torch = result.torch;
  end.cuda = result.cuda;
  end.python = result.python;
  end.devices = model::figures_of(result);
  end.phases = result.phases;
  end.result = std::move(json);
  return end;
}

model::RunEnd summarize(const model::FitResult& result, std::string json) {
  model::RunEnd end = summarize(result.as_is, std::move(json));
  end.verdict = to_string(result.verdict);
  end.reason = result.reason;
  using enum model::FitVerdict;
  end.exit_code = result.verdict == kPlanFits || result.verdict == kFitsAlready ? 0 : 1;
  end.wall_seconds = result.seconds;
  if (result.plans.empty() || !result.plans.front().proven) return end;
  const model::PlanRow& best = result.plans.front();
  end.reason = best.plan.name;
  end.phases.clear();  // they are those of the job as it is
  for (model::CardFigures& device : end.devices) {
    if (device.index != result.card_index) continue;
    device.allocated = best.proven->allocated;
    device.reserved = best.proven->reserved;
    device.device = best.proven->device;
  }
  return end;
}

model::RunEnd summarize(const model::Diagnosis& diagnosis, double wall_seconds, std::string json) {
  model::RunEnd end;
  end.verdict = diagnosis.trouble ? "findings" : "all_well";
  end.reason = diagnosis.verdict;
  end.exit_code = diagnosis.trouble ? 1 : 0;
  end.wall_seconds = wall_seconds;
  for (const model::Finding& finding : diagnosis.findings) {
    end.findings.push_back({finding.code, finding.label, finding.title});
  }
  end.result = std::move(json);
  return end;
}

}  // namespace vramfit::history
