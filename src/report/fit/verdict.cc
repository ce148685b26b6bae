#include <fmt/format.h>

#include "report/fit/parts.h"
#include "report/fit_text.h"
#include "report/layout.h"
#include "report/reach_text.h"

namespace vramfit::report {
namespace {

using model::FitResult;
using model::FitVerdict;
using model::PlanRow;

std::string describe_batch(const model::LargestBatch& batch, const PlanRow& best, const std::string& card) {
  const std::string which = batch.size == batch.own ? " (the script's own)" : "";
  const std::string peak = fmt::format("{} at the peak, proven by a run", to_string(best.proven->device));
  if (batch.is_exact) {
    const char* how = batch.is_next_near ? "is sure to fit" : "fits";
    const char* next = batch.is_next_near ? "is within the uncertainty of the context's size" : "does not fit";
    return fmt::format("{}{} is the largest that {} {}: {}; {} was run too, and {}", best.plan.name, which, how, card,
                       peak, batch.size + 1, next);
  }
  if (batch.is_all_data) {
    return fmt::format("{}{} fits {}: {}; a pass over the data may have no more samples", best.plan.name, which, card,
                       peak);
  }
  return fmt::format("{}{} fits {}: {}; larger ones may", best.plan.name, which, card, peak);
}

std::string describe_verdict(const FitResult& result) {
  const std::string which = result.cards > 1 ? fmt::format(", card {} of {}", result.card_index, result.cards) : "";
  const std::string card = fmt::format("{} ({}{})", result.card, to_string(result.limit), which);
  switch (result.verdict) {
    case FitVerdict::kFitsAlready: {
      const model::DeviceResult* device = fullest(result.as_is);
      const std::string_view words = is_settled(result.as_is.reach) ? "fits already" : "fits already, as far as it ran";
      if (device == nullptr) return fmt::format("{}: the job runs on {} as it is", words, card);
      return fmt::format("{}: the job runs on {} as it is, with {} at the peak{}", words, card,
                         to_string(device->peaks.device),
                         device->retries > 0 ? "; memory is tight: PyTorch had to empty its cache" : "");
    }
    case FitVerdict::kPlanFits: {
      const PlanRow& best = result.plans.front();
      const char* so_far = result.was_interrupted ? "interrupted; the best so far: " : "";
      if (result.largest_batch) return so_far + describe_batch(*result.largest_batch, best, card);
      return fmt::format("{}{} fits {}: {} at the peak, proven by a run", so_far, best.plan.name, card,
                         to_string(best.proven->device));
    }
    case FitVerdict::kNeedsEdit:
      return fmt::format("the script itself has to change to fit {}: {}", card,
                         result.cause ? result.cause->text : result.reason);
    case FitVerdict::kNothingFits:
      return fmt::format("no plan fits {}: {}", card,
                         result.reason.empty()
                             ? "everything that can be applied was run together and is still too large"
                             : result.reason);
    case FitVerdict::kNotProven:
      return fmt::format("no plan was proven for {}: {}", card, result.reason);
    case FitVerdict::kOutOfTime:
      return fmt::format("ran out of time searching: nothing was proven for {} in {:.0f} s{}; a plan may exist", card,
                         result.budget_seconds, result.reason.empty() ? "" : " (" + result.reason + ")");
    case FitVerdict::kInterrupted:
      return "interrupted before a plan was proven";
    case FitVerdict::kJobFailed:
      return fmt::format("the job itself does not run: {}", result.reason);
  }
  return "";
}

}  // namespace

Mark fit_verdict_mark(const FitResult& result) {
  const FitVerdict verdict = result.verdict;
  if (verdict == FitVerdict::kPlanFits || verdict == FitVerdict::kFitsAlready) return Mark::kGood;
  return verdict == FitVerdict::kOutOfTime || verdict == FitVerdict::kInterrupted ? Mark::kUnsure : Mark::kBad;
}

std::string fit_verdict_line(const FitResult& result) {
  return wrap(fmt::format("{} {}", sign(fit_verdict_mark(result)), describe_verdict(result)), kPageWidth, 4);
}

}  // namespace vramfit::report
