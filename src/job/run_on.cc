#include "job/run_on.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "job/assemble.h"

namespace vramfit::job {

using base::Bytes;
using model::RunResult;
using model::Verdict;

namespace {

constexpr double kShareOfLimit = 0.5;
constexpr double kMostSeconds = 1e6;

// Ranks verdicts by how much they speak against the job fitting.
int severity(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOutOfMemory:
      return 2;
    case Verdict::kBorderline:
      return 1;
    default:
      return 0;
  }
}

Bytes least_room(const RunResult& result) {
  Bytes least = Bytes::gib(1 << 20);
  for (const model::DeviceResult& device : result.devices) least = std::min(least, device.total - device.peaks.device);
  return least;
}

bool is_worse(const RunResult& a, const RunResult& b) {
  if (severity(a.verdict) != severity(b.verdict)) return severity(a.verdict) > severity(b.verdict);
  return least_room(a) < least_room(b);
}

void raise(model::Peaks& peaks, const model::Peaks& other) {
  peaks.allocated = std::max(peaks.allocated, other.allocated);
  peaks.reserved = std::max(peaks.reserved, other.reserved);
  peaks.device = std::max(peaks.device, other.device);
}

void add_devices(const RunResult& from, RunResult& into) {
  for (model::DeviceResult& device : into.devices) {
    const auto same = std::ranges::find(from.devices, device.index, &model::DeviceResult::index);
    if (same == from.devices.end()) continue;
    raise(device.peaks, same->peaks);
    device.retries = std::max(device.retries, same->retries);
  }
}

void add_phases(const RunResult& from, RunResult& into) {
  for (const model::PhaseResult& phase : from.phases) {
    const auto same = std::ranges::find_if(into.phases, [&](const model::PhaseResult& known) {
      return known.name == phase.name && known.device == phase.device;
    });
    if (same == into.phases.end()) {
      into.phases.push_back(phase);
      continue;
    }
    raise(same->peaks, phase.peaks);
    same->steps = std::max(same->steps, phase.steps);
  }
}

template <class Element, class Key>
void add_new(const std::vector<Element>& from, std::vector<Element>& into, Key key) {
  for (const Element& element : from) {
    const auto same = [&](const Element& known) { return std::invoke(key, known) == std::invoke(key, element); };
    if (std::ranges::none_of(into, same)) into.push_back(element);
  }
}

void add_words(const RunResult& from, RunResult& into) {
  add_new(from.depends_on_data, into.depends_on_data,
          [](const model::DataDependence& read) { return std::pair(read.what, read.line); });
  add_new(from.not_modelled, into.not_modelled, &model::Remark::text);
  add_new(from.assumed, into.assumed, &model::Remark::text);
  add_new(from.untested, into.untested, std::identity());
  add_new(from.warnings, into.warnings, &model::Remark::text);
  add_new(from.losses, into.losses, [](const model::DataLoss& loss) { return std::pair(loss.kind, loss.detail); });
}

// A short run sees growth over a few steps only, so what the long run says of growth replaces it.
void drop_growth(RunResult& result) {
  result.evidence.growth.clear();
  tell_growth(result);
}

}  // namespace

std::optional<Span> parse_span(const std::string& text) {
  const bool counts = text.ends_with('n');
  const std::string number = counts ? text.substr(0, text.size() - 1) : text;
  const char* const end = number.data() + number.size();
  Span span;
  if (counts) {
    const auto [at, problem] = std::from_chars(number.data(), end, span.count);
    return problem == std::errc() && at == end && span.count > 0 ? std::optional(span) : std::nullopt;
  }
  const auto read = [end](const char* from, double& seconds) {
    const auto [at, problem] = std::from_chars(from, end, seconds, std::chars_format::fixed);
    return problem == std::errc() && seconds >= 0 && seconds <= kMostSeconds ? at : nullptr;
  };
  const char* at = read(number.data(), span.seconds);
  if (at != nullptr && at != end && *at == '-') {
    span.settled_seconds = std::exchange(span.seconds, 0);
    at = read(at + 1, span.seconds);
    if (span.settled_seconds <= 0 || span.settled_seconds > span.seconds) return std::nullopt;
  }
  return at == end ? std::optional(span) : std::nullopt;
}

Span span_of(const RunRequest& request) {
  if (request.real || (request.steps != model::asked::kStepsAuto && request.steps != model::asked::kStepsQuick))
    return {};
  Span span = request.span;
  if (request.timeout_seconds) span.seconds = std::min(span.seconds, kShareOfLimit * *request.timeout_seconds);
  return span;
}

std::string to_variable(const Span& span) {
  if (span.count > 0) return fmt::format("{}n", span.count);
  if (span.seconds <= 0) return "";
  const bool may_settle = span.settled_seconds > 0 && span.settled_seconds < span.seconds;
  return may_settle ? fmt::format("{:.3f}-{:.3f}", span.settled_seconds, span.seconds)
                    : fmt::format("{:.3f}", span.seconds);
}

Span span_to_peak(const RunRequest& request, const model::Reach& reach) {
  if (request.span.is_empty() || reach.whole) return request.span;
  return reach.batches > 0 ? Span{0, std::min(reach.peak_at + kPastThePeak, reach.batches)} : Span{};
}

bool wants_short_run(const RunRequest& request, const RunOutcome& outcome) {
  const RunResult& result = outcome.result;
  const bool went_well = result.verdict == Verdict::kFits || (result.verdict == Verdict::kBorderline && !result.oom);
  // Also if loops were ended before any batch was seen: they may be rollouts before the first training step.
  const bool saw_loops = result.reach.batches > 0 || (result.reach.watched && !result.reach.open.empty());
  const bool had_budget = !span_of(request).is_empty() && saw_loops;
  return had_budget && went_well && !result.interrupted && !result.timed_out && !result.reach.whole;
}

void take_growth(const RunResult& longer, RunResult& into) {
  drop_growth(into);
  add_new(longer.warnings, into.warnings, &model::Remark::text);
  into.evidence.growth = longer.evidence.growth;
  into.evidence.judged_steps = longer.evidence.judged_steps;
  into.evidence.judged_passes = longer.evidence.judged_passes;
  into.evidence.collector = longer.evidence.collector;
}

model::Reach joined_reach(model::Reach longer, const RunOutcome& shorter) {
  facts::drop_executed(shorter.facts->executed, longer);
  return longer;
}

RunOutcome join_runs(RunOutcome longer, RunOutcome shorter) {
  model::Reach reach = joined_reach(longer.result.reach, shorter);
  std::vector<std::string> cuts = longer.result.cuts;
  take_growth(longer.result, shorter.result);
  const double seconds = longer.result.wall_seconds + shorter.result.wall_seconds;
  const bool shorter_counts = is_worse(shorter.result, longer.result);
  if (shorter_counts) std::swap(longer, shorter);
  RunResult& result = longer.result;
  const RunResult& other = shorter.result;
  add_devices(other, result);
  add_phases(other, result);
  add_words(other, result);
  if (result.margin && other.margin) result.margin = std::min(*result.margin, *other.margin);
  result.host_peak = std::max(result.host_peak, other.host_peak);
  result.processes = std::max(result.processes, other.processes);
  cuts.emplace_back(
      "a second run, cut short, saw a few batches of everything that comes after; the worse of both counts");
  result.cuts = std::move(cuts);
  result.reach = std::move(reach);
  result.wall_seconds = seconds;
  return longer;
}

RunOutcome complete(const RunRequest& request, RunOutcome outcome,
                    const std::function<base::Result<RunOutcome>(const RunRequest&)>& run_once) {
  if (request.span_alone || !wants_short_run(request, outcome)) return outcome;
  RunRequest next = request;
  next.span = {};
  next.quiet_child = true;
  next.child_output.clear();
  next.already_printed.reset();
  auto shorter = run_once(next);
  if (!shorter || shorter->result.interrupted) return outcome;
  const Verdict verdict = shorter->result.verdict;
  if (verdict == Verdict::kFailed || verdict == Verdict::kNoCard) return outcome;
  return join_runs(std::move(outcome), std::move(*shorter));
}

}  // namespace vramfit::job
