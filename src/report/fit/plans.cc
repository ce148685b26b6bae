#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "report/fit/parts.h"
#include "report/layout.h"

namespace vramfit::report {
namespace {

using base::Bytes;
using model::FitResult;
using model::PlanRow;

constexpr double kRoundedError = 0.005;  // errors are shown in whole percents

constexpr std::size_t kShownLosers = 8;
constexpr std::size_t kShownPlans = 5;  // so that an answer fits one screen

// "  1    3.12 GiB    3.30 GiB  x1.08  rounding    " before the plan's name.
constexpr std::size_t kNameColumn = 48;

// What it promises to leave as it is, and nobody has compared.

bool is_doubtful(const PlanRow& row) {
  const bool promises = row.effect != "optimizer" && row.effect != "input" && row.effect != "network";
  return promises && row.equivalence && row.equivalence->sameness == model::Sameness::kNotChecked;
}

// Whether something about this very plan is not known, beside how far such predictions are off.
bool is_wide(const PlanRow& row) {
  const auto share = [&](Bytes bytes) {
    return static_cast<double>(bytes.count()) / static_cast<double>(row.predicted_peak.count());
  };
  const double widest = std::max(1 - share(row.predicted_low), share(row.predicted_high) - 1);
  return widest > row.predicted_error + kRoundedError;
}

// The proven peak. What was not run has "-", and by how much its prediction may be off: "- (±2%)". Results that earlier
// versions stored do not tell that.
std::string proven_or_error(const PlanRow& row, bool was_run) {
  if (was_run) return to_string(row.proven->device);
  if (row.predicted_error <= 0) return "-";
  if (is_wide(row)) return "- (?)";
  return fmt::format("- (±{:.0f}%)", 100 * row.predicted_error);
}

std::string numbers_of(const PlanRow& row, std::size_t rank) {
  const std::string proven = proven_or_error(row, row.proven.has_value());
  return fmt::format("{:>3} {:>11} {:>11}  x{:<5.2f} {:<11}  ", rank, to_string(row.predicted_peak), proven,
                     row.time_factor, row.effect + (is_doubtful(row) ? "?" : ""));
}

std::string legend_of_foreseen(const PlanRow& row) { return row.predicted_error > 0 ? "; 95 % within ±" : ""; }

// Wrapped to the last column, whose lines all begin at the same place.

std::string in_name_column(const std::string& text) {
  std::string column;
  for (const char character : wrap(text, kPageWidth - kNameColumn, 0)) {
    column += character;
    if (character == '\n') column += std::string(kNameColumn, ' ');
  }
  return column;
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

// Adds how long the plans that fit take: the table has the factor alone.

}  // namespace

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
  // What was never run may be refused by this very script, as accumulation in a loop that reads gradients.
  if (!result.foreseen.empty() && shown < most) {
    text += "    only predicted, not run: may not apply or fit (--budget SECONDS runs them)\n";
  }
  for (const PlanRow& row : result.foreseen) {
    if (shown++ >= most) break;
    text += numbers_of(row, shown) + in_name_column(row.plan.name) + "\n";
    if (row.predicted_error > 0 && is_wide(row)) {
      const std::string range = fmt::format("({} to {}: only its run tells what the script keeps)",
                                            to_string(row.predicted_low), to_string(row.predicted_high));
      text += std::string(kNameColumn, ' ') + in_name_column(range) + "\n";
    }
  }
  std::string legend = "peaks on the device; time of a step against now, from a model";
  if (!result.foreseen.empty()) legend += legend_of_foreseen(result.foreseen.front());
  legend += ".";
  if (std::ranges::any_of(result.plans, is_doubtful)) legend += " ?: as promised, not compared with the job as it is.";
  text += wrap(legend, kPageWidth, 2) + "\n";
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
                        proven_or_error(row, was_run), row.time_factor, row.effect);
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

}  // namespace vramfit::report
