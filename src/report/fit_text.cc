#include "report/fit_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "report/layout.h"
#include "report/reach_text.h"

namespace vramfit::report {
namespace {

using model::FitResult;
using model::FitVerdict;
using model::PlanRow;

constexpr std::size_t kShownLosers = 8;
// How many are shown, so that an answer fits one screen.
constexpr std::size_t kShownOpen = 2;
constexpr std::size_t kShownPlans = 5;

// "  1    3.12 GiB    3.30 GiB  x1.08  rounding    " before the plan's name.
constexpr std::size_t kNameColumn = 48;

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

std::string_view mark_of(FitVerdict verdict) {
  if (verdict == FitVerdict::kPlanFits || verdict == FitVerdict::kFitsAlready) return "[✓]";
  return verdict == FitVerdict::kOutOfTime || verdict == FitVerdict::kInterrupted ? "[!]" : "[✗]";
}

// What the job with plenty did not come to, nor any plan.
void add_reach(std::string& text, const model::Reach& reach, bool tells_all) {
  std::vector<std::string> sentences = unreached_sentences(reach, 5);
  sentences.insert(sentences.end(), reach.open.begin(), reach.open.end());
  if (sentences.empty()) return;
  text += "\nLeft open\n";
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    if (!tells_all && i == kShownOpen) {
      text += fmt::format("  and {} more (-v shows all, and these in full)\n", sentences.size() - i);
      return;
    }
    text += "  - " + (tells_all ? wrap(sentences[i], kPageWidth - 4, 4) : shorten(sentences[i], kPageWidth - 4)) + "\n";
  }
}

// What the job did on the card itself: all that is known where the run with plenty was interrupted.
std::string describe_as_is(const FitResult& result) {
  if (!result.as_is.oom) return result.as_is.verdict == model::Verdict::kFits ? "fits" : "does not fit";
  return fmt::format("runs out of memory in phase {}, asking for {}", result.as_is.oom->phase,
                     to_string(result.as_is.oom->tried));
}

void add_demand(std::string& text, const FitResult& result, bool tells_all) {
  if (!result.free_run) {
    if (result.was_interrupted && result.as_is.oom) {
      const std::string known = describe_as_is(result);
      text += "\n" +
              wrap(fmt::format("As it is, the job {}. What it takes with room was not seen to its end.", known),
                   kPageWidth, 0) +
              "\n";
    }
    return add_reach(text, result.as_is.reach, tells_all);
  }
  const model::DeviceResult* device = fullest(*result.free_run);
  if (device == nullptr) return;
  text += "\n" +
          wrap(fmt::format(
                   "As it is, the job {}{}. With room, it takes {} at its peak ({}); {} of them are tensors.",
                   describe_as_is(result), result.as_is.verdict == model::Verdict::kBorderline ? " (a close call)" : "",
                   to_string(device->peaks.device), result.free_run->peak_phase, to_string(device->peaks.allocated)),
               kPageWidth, 0) +
          "\n";
  // What the run with room warned of is often the cause, and something that no technique changes: memory that grows.
  for (const model::Remark& warning : result.free_run->warnings)
    text += wrap("[!] " + warning.text, kPageWidth, 4) + "\n";
  add_reach(text, result.free_run->reach, tells_all);
}

void add_cause(std::string& text, const FitResult& result) {
  if (!result.cause) return;
  const model::Cause& cause = *result.cause;
  text += "\nWhat is wrong in the script\n";
  text += "  - " + wrap(cause.text, kPageWidth - 4, 4) + "\n";
  if (!cause.line.empty()) text += "    " + wrap("at " + cause.line, kPageWidth - 4, 4) + "\n";
  text += "    " + wrap("help: " + cause.remedy, kPageWidth - 4, 4) + "\n";
}

// What it promises to leave as it is, and nobody has compared.
bool is_doubtful(const PlanRow& row) {
  const bool promises = row.effect != "optimizer" && row.effect != "input" && row.effect != "network";
  return promises && row.equivalence && row.equivalence->sameness == model::Sameness::kNotChecked;
}

std::string numbers_of(const PlanRow& row, std::size_t rank) {
  const std::string proven = row.proven ? to_string(row.proven->device) : "-";
  return fmt::format("{:>3} {:>11} {:>11}  x{:<5.2f} {:<11}  ", rank, to_string(row.predicted_peak), proven,
                     row.time_factor, row.effect + (is_doubtful(row) ? "?" : ""));
}

// Wrapped to the last column, whose lines all begin at the same place.
std::string in_name_column(const std::string& text) {
  std::string column;
  for (const char character : wrap(text, kPageWidth - kNameColumn, 0)) {
    column += character;
    if (character == '\n') column += std::string(kNameColumn, ' ');
  }
  return column;
}

void add_plans(std::string& text, const FitResult& result, bool tells_all) {
  if (result.plans.empty()) return;
  text += "\nPlans that fit, best first\n";
  text += fmt::format("{:>3} {:>11} {:>11}  {:<6} {:<11}  {}\n", "", "predicted", "proven", "time", "results", "plan");
  const std::size_t most = tells_all ? result.plans.size() + result.foreseen.size() : kShownPlans;
  std::size_t shown = 0;
  for (const PlanRow& row : result.plans) {
    if (shown++ == most) break;
    text += numbers_of(row, shown) + in_name_column(row.plan.name) + "\n";
    if (!row.reason.empty()) {
      text += std::string(kNameColumn, ' ') + in_name_column("(" + row.reason + ")") + "\n";
    }
  }
  for (const PlanRow& row : result.foreseen) {
    if (shown++ >= most) break;
    text += numbers_of(row, shown) + in_name_column(row.plan.name) + "\n";
  }
  std::string legend = "predicted, proven: peak on the device. time: of a step against now, from a model.";
  if (!result.foreseen.empty()) legend += " proven -: only predicted, not run (--budget SECONDS runs them).";
  if (std::ranges::any_of(result.plans, is_doubtful)) legend += " ?: as promised, not compared with the job as it is.";
  text += wrap(legend, kPageWidth, 2) + "\n";
}

// "layers.0-11, head": runs of numbered names are drawn together.
std::string join_names(const std::vector<std::string>& names) {
  std::map<std::string, std::set<long>> numbered;  // by what comes before the number
  std::vector<std::string> order;
  for (const std::string& name : names) {
    const std::size_t dot = name.rfind('.') + 1;
    const bool has_number = dot < name.size() && name.size() - dot < 7 &&
                            std::all_of(name.begin() + static_cast<std::ptrdiff_t>(dot), name.end(),
                                        [](unsigned char c) { return std::isdigit(c); });
    const std::string stem = has_number ? name.substr(0, dot) : name;
    if (!numbered.contains(stem)) order.push_back(stem);
    auto& numbers = numbered[stem];
    if (has_number) numbers.insert(std::stol(name.substr(dot)));
  }
  std::vector<std::string> parts;
  for (const std::string& stem : order) {
    const std::set<long>& numbers = numbered[stem];
    if (numbers.empty()) parts.push_back(stem);
    for (auto at = numbers.begin(); at != numbers.end();) {
      const long first = *at;
      long last = first;
      while (++at != numbers.end() && *at == last + 1) last = *at;
      parts.push_back(last == first ? fmt::format("{}{}", stem, first) : fmt::format("{}{}-{}", stem, first, last));
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void add_consequences(std::string& text, const FitResult& result) {
  if (result.plans.empty()) return;
  const PlanRow& best = result.plans.front();
  text += "\nWhat the best plan changes\n";
  const bool is_doubted = is_doubtful(best);
  if (best.consequences.empty() && !is_doubted) {
    const bool by_steps = best.equivalence && best.equivalence->checked;  // else it is exact by the way it is made
    text += by_steps
                ? "  - nothing that is learned in the first steps, which were compared; later ones were\n    not (a "
                  "loss or a schedule that changes with the step)\n"
                : "  - nothing that is learned: the same sums, in another order at most\n";
  }
  for (const std::string& sentence : best.consequences) {
    text += "  - " + wrap(sentence, kPageWidth - 4, 4) + "\n";
  }
  if (best.equivalence) {
    const char* more = is_doubted ? "; whether it trains the same is promised, not proven (vramfit verify)" : "";
    text += "  - " + wrap(best.equivalence->text + more, kPageWidth - 4, 4) + "\n";
  }
  for (const model::Change& change : best.plan.changes) {
    const auto modules = model::find_names(change, "modules");
    if (modules.empty()) continue;
    text += "  - " + wrap("run again in backward: " + join_names(modules), kPageWidth - 4, 4) + "\n";
  }
  if (best.is_tight && best.retries == 0 && best.proven) {
    const double share = static_cast<double>(best.proven->device.count()) / static_cast<double>(result.limit.count());
    text += "  - " +
            wrap(fmt::format("memory is tight: {:.0f} % of the card (--budget SIZE leaves some free)", 100 * share),
                 kPageWidth - 4, 4) +
            "\n";
  }
  if (best.retries > 0) {
    text += "  - " +
            wrap("memory is tight: PyTorch emptied its cache and asked again, which costs time", kPageWidth - 4, 4) +
            "\n";
  }
}

// Adds how long the plans that fit take: the table has the factor alone.
void add_times(std::string& text, const FitResult& result) {
  if (result.plans.empty()) return;
  text += "\nTime of a training step against now (a model's; the range is assumed)\n";
  for (std::size_t i = 0; i < result.plans.size(); ++i) {
    const PlanRow& row = result.plans[i];
    text += fmt::format("{:>3}  x{:.2f} to x{:.2f}  {}\n", i + 1, row.time_low, row.time_high,
                        wrap(row.plan.name, kPageWidth - 22, 22));
  }
}

void add_losers(std::string& text, const FitResult& result, bool verbose) {
  if (result.lost.empty()) return;
  text += "\nPlans that lost\n";
  std::size_t shown = 0;
  for (const PlanRow& row : result.lost) {
    const bool alone = row.plan.changes.size() == 1;
    if (!verbose && (shown == kShownLosers || (!alone && shown + 2 > kShownLosers))) continue;
    ++shown;
    text += "  - " + wrap(fmt::format("{}: {}", row.plan.name, row.reason), kPageWidth - 4, 4) + "\n";
  }
  if (shown < result.lost.size()) text += fmt::format("  and {} more (-v shows all)\n", result.lost.size() - shown);
}

void add_front(std::string& text, const FitResult& result) {
  if (result.front.empty()) return;
  text += "\nMemory against time\n";
  text += fmt::format("    {:>11} {:>11}  {:<6} {:<11}  {}\n", "needs", "proven", "time", "results", "plan");
  for (const PlanRow& row : result.front) {
    const bool was_run = row.proven && row.standing == model::PlanStanding::kFits;
    text += fmt::format("    {:>11} {:>11}  x{:<5.2f} {:<11}  ", to_string(row.predicted),
                        was_run ? to_string(row.proven->device) : "-", row.time_factor, row.effect);
    text += in_name_column(row.plan.name) + "\n";
  }
  text += wrap(
              "No other plan that takes as little from the training needs less memory without taking more time. needs, "
              "time: from a model; -: not run.",
              kPageWidth, 2) +
          "\n";
}

void add_techniques(std::string& text, const FitResult& result) {
  bool heading = false;
  for (const model::TechniqueRow& row : result.techniques) {
    if (row.standing == "applicable") continue;
    if (!heading) text += "\nNot tried\n";
    heading = true;
    const std::string standing = row.standing == "in_force" ? "already in force: " : "";
    text += "  - " + wrap(fmt::format("{}: {}{}", row.id, standing, row.reason), kPageWidth - 4, 4) + "\n";
  }
}

// Shortens a card's name for a table that is short of room.
std::string without_maker(const std::string& name) {
  constexpr std::string_view kMaker = "NVIDIA ";
  return name.starts_with(kMaker) ? name.substr(kMaker.size()) : name;
}

std::string describe_cards(const model::FloorCards& cards) {
  if (cards.count == 0) {
    return fmt::format("no number of {}: each needs {} beside its share", cards.card, to_string(cards.each));
  }
  if (cards.count == 1) return fmt::format("1 {}, which would hold it whole", cards.card);
  return fmt::format("{} x {}, with {} on each", cards.count, cards.card, to_string(cards.each));
}

void add_remedies(std::string& text, const model::Floor& floor, base::Bytes limit) {
  std::vector<std::vector<std::string>> rows = {{"less by", "leaves", ""}};
  for (const model::FloorRemedy& remedy : floor.remedies) {
    const std::string_view enough = remedy.leaves <= limit ? " (below the card's memory)" : "";
    rows.push_back({to_string(remedy.frees), to_string(remedy.leaves), remedy.text + std::string(enough)});
  }
  if (rows.size() > 1) {
    text += "\nWhat would make that less, each alone (by arithmetic, not run)\n";
    text += table({{Align::kRight}, {Align::kRight}, {Align::kLeft, 56}}, rows);
  }
  std::string cards;
  for (const model::FloorCards& one : floor.cards) cards += (cards.empty() ? "" : "; or ") + describe_cards(one);
  if (!cards.empty()) {
    text += wrap("Cards that hold it with weights, gradients and state in shards (FSDP, ZeRO-3): " + cards +
                     ". Sharing the batch alone (DistributedDataParallel) leaves all of it on each card.",
                 kPageWidth, 2) +
            "\n";
  }
}

// Where nothing fits: what no batch, precision of the activations or recomputation makes smaller.
void add_floor(std::string& text, const FitResult& result) {
  if (!result.floor) return;
  const model::Floor& floor = *result.floor;
  std::vector<std::vector<std::string>> rows = {{to_string(floor.weights), "weights and buffers"}};
  if (floor.gradients > base::Bytes(0)) rows.push_back({to_string(floor.gradients), "their gradients"});
  if (floor.optimizer > base::Bytes(0)) rows.push_back({to_string(floor.optimizer), "state of " + floor.name});
  rows.push_back({to_string(floor.context), "CUDA context and libraries"});
  rows.push_back({to_string(floor.sum()), fmt::format("in all, of {} on the card", to_string(result.limit))});
  if (floor.transient > base::Bytes(0)) {
    rows.push_back({to_string(floor.transient), "more while the operator runs that takes most beside"});
  }
  text += "\nWhat it holds whatever the batch is\n";
  if (!floor.owner.empty()) text += "  " + wrap(floor.owner, kPageWidth - 2, 2) + "\n";
  text += table({{Align::kRight}, {Align::kLeft, 60}}, rows);
  if (floor.sum() <= result.limit) return;
  add_remedies(text, floor, result.limit);
  text += wrap(
              "This alone is more than the card has: neither a smaller batch nor recomputation can help, only a "
              "smaller network, an optimizer that keeps less, weights of fewer bits, the host's memory, or other "
              "cards.",
              kPageWidth, 2) +
          "\n";
}

// What an edit would free; none of it was run.
void add_advice(std::string& text, const FitResult& result) {
  if (result.advice.empty()) return;
  text += "\nWhat an edit would free (from this job's figures; not run)\n";
  for (const std::string& sentence : result.advice) text += "  - " + wrap(sentence, kPageWidth - 4, 4) + "\n";
}

// "2 x NVIDIA A100-PCIE-40GB  needs 12.1 of 39.4 GiB  x0.31  price 2.4"
void add_hardware(std::string& text, const FitResult& result) {
  if (result.hardware.empty()) return;
  std::vector<std::vector<std::string>> rows = {{"", "card", "needs", "of", "time", "price", ""}};
  for (const model::HardwareRow& row : result.hardware) {
    rows.push_back({row.with_plan ? "best plan" : "as it is",
                    (row.count > 1 ? fmt::format("{} x ", row.count) : "") + without_maker(row.name),
                    to_string(row.needs), to_string(row.memory), fmt::format("x{:.2f}", row.time_factor),
                    fmt::format("{:.2f}", row.price), row.proven ? "run" : ""});
  }
  text += "\nOther cards that it fits\n";
  text += table({{}, {Align::kLeft, 30}, {Align::kRight}, {Align::kRight}, {Align::kRight}, {Align::kRight}, {}}, rows);
  text += wrap(
              "needs, time (of a step, against now): from a model, but for cards where it was run. price: of all of "
              "them, an RTX 3090 being 1. Several cards share each batch (DistributedDataParallel).",
              kPageWidth, 2) +
          "\n";
}

// Commands are for copying: never wrapped.
void add_commands(std::string& text, const FitResult& result) {
  if (result.plan_file.empty()) {
    if (!result.plans.empty() && !result.reason.empty())
      text += "\n" + wrap("[!] " + result.reason, kPageWidth, 4) + "\n";
    return;
  }
  text += fmt::format("\nThe best plan is in {}. To train with it on the real card:\n  {}\n", result.plan_file,
                      result.train_command);
  text += fmt::format("To see the proof again (or the plan as a diff of the script: vramfit patch):\n  {}\n",
                      result.prove_command);
}

// One line of it: the cheapest card for the job as it is.
void add_cheapest_card(std::string& text, const FitResult& result) {
  if (result.hardware.empty() || result.hardware.front().with_plan) return;
  const model::HardwareRow& row = result.hardware.front();
  text += "\n" +
          wrap(fmt::format("As it is, it would fit {}{}: {} of {}, by the model (-v shows more cards).",
                           row.count > 1 ? fmt::format("{} x ", row.count) : "", without_maker(row.name),
                           to_string(row.needs), to_string(row.memory)),
               kPageWidth, 0) +
          "\n";
}

std::string describe_ending(const FitResult& result) {
  const bool is_largest = result.goal == model::FitGoal::kMaxBatch;
  if (is_largest && result.cheapest_known) return "";
  const char* what = is_largest                                     ? "a larger batch may fit"
                     : result.goal == model::FitGoal::kSameTraining ? "a cheaper plan may exist"
                                                                    : "a better plan may exist";
  if (result.was_interrupted) return fmt::format("; interrupted, so {}", what);
  if (!result.cheapest_known) return fmt::format("; the search ended early, so {} (--budget SECONDS)", what);
  const char* better = result.goal == model::FitGoal::kSameTraining ? "cheaper" : "better";
  if (result.only_foreseen == 0) return fmt::format("; nothing {} is left that could fit", better);
  return fmt::format("; {} {} ones were not run, which are too large by the forecast alone", result.only_foreseen,
                     better);
}

void add_effort(std::string& text, const FitResult& result, std::int64_t number) {
  std::string line = fmt::format("{} runs in {:.1f} s", result.runs, result.seconds);
  if (result.candidates > 0 && result.goal != model::FitGoal::kMaxBatch) {
    line += fmt::format("; {} combinations, {} ruled out without a run", result.candidates, result.ruled_out);
  }
  if (result.verdict == FitVerdict::kPlanFits) line += describe_ending(result);
  if (number > 0) line += fmt::format("; noted as run {} of the history", number);
  text += "\n" + wrap(line, kPageWidth, 0) + "\n";
}

void add_what_is_left_out(std::string& text, const FitResult& result) {
  const auto is_out = [](const model::TechniqueRow& row) { return row.standing != "applicable"; };
  const auto out = std::ranges::count_if(result.techniques, is_out);
  if (result.lost.empty() && out == 0 && result.front.empty()) return;
  const std::string words = fmt::format(
      "-v tells why {} other plans and {} techniques are not the answer, and memory against time for {} plans.",
      result.lost.size(), out, result.front.size());
  text += wrap(words, kPageWidth, 0) + "\n";
}

}  // namespace

std::string fit_verdict_line(const FitResult& result) {
  return wrap(fmt::format("{} {}", mark_of(result.verdict), describe_verdict(result)), kPageWidth, 4);
}

std::string fit_to_text(const FitResult& result, const TextOptions& options) {
  std::string text = fit_verdict_line(result) + "\n";
  // Where a plan is the answer, what is not is for those who ask.
  const bool tells_all = options.verbose || result.plans.empty();
  add_demand(text, result, tells_all);
  for (const std::string& sentence : result.as_is.untested)
    text += "\n" + wrap("[!] " + sentence, kPageWidth, 4) + "\n";
  add_cause(text, result);
  add_plans(text, result, tells_all);
  add_consequences(text, result);
  if (tells_all) {
    add_losers(text, result, options.verbose);
    add_techniques(text, result);
  }
  if (options.verbose) add_times(text, result);
  if (options.verbose) add_front(text, result);
  add_floor(text, result);
  add_advice(text, result);
  if (tells_all) {
    add_hardware(text, result);
  } else {
    add_cheapest_card(text, result);
  }
  add_commands(text, result);
  add_effort(text, result, options.number);
  if (!tells_all) add_what_is_left_out(text, result);
  text += "\n" + fit_verdict_line(result) + "\n";
  return options.color ? paint_marks(text) : text;
}

}  // namespace vramfit::report
