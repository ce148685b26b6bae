// How near the planner's forecasts come to runs: for bench/forecast.
//
//   vramfit_forecast_tool GPU SECONDS [--cases ALONE,PAIRS] [--stack TECHNIQUE[=OPTION],...;...] [--proven LINES]
//                         [--blocks FOLDER] [--plan NAME] [--share SHARE] [--own-runs 0] python train.py ...
//
// ALONE,PAIRS: so many plans of one technique and of two at most, spread evenly over all that there are. LINES: what an
// earlier call told of the same job. Plans in it are foretold again and not run again, whatever the seconds, and count
// among those that are spread.
//
// Runs the job with plenty of memory, then one plan after another: options of every technique alone, and pairs of them.
// A line of JSON each: what was added up, what was played (plan/stream), and what the run reserved at most. Techniques
// that are not for this job have a line each with the reason. FOLDER: the blocks of the job's runs, of each forecast
// and of each run of a plan are written there, to find where they first differ. NAME: no other plan is tried. SHARE: of
// the job's peak, the card that options are made for. Stacks: the plans of app/testing/plan_stacks.h, in place of all
// others. Own runs: 0 makes none of those that single changes may have, as fit does where it has found a plan without.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/catalogue.h"
#include "app/fit/measurement.h"
#include "app/fit/prover.h"
#include "app/testing/plan_stacks.h"
#include "base/clock.h"
#include "devices/catalogue.h"
#include "facts/allocation_stream.h"
#include "facts/job_builder.h"
#include "ingest/plan_file.h"
#include "job/warm_runner.h"
#include "plan/forecast_bounds.h"
#include "plan/measured_shares.h"
#include "plan/search/candidate.h"
#include "plan/stream/player.h"
#include "plan/techniques/registry.h"

namespace {

using namespace vramfit;
using base::Bytes;
using nlohmann::json;

constexpr Bytes kPlenty = Bytes::gib(1024);

struct Options {
  double seconds = 0;
  double of_peak = 0.6;                            // the card that options are made for
  std::size_t alone = SIZE_MAX, pairs = SIZE_MAX;  // so many plans at most
  std::map<std::string, json> proven;              // by the plan's name: lines of before
  std::string blocks;                              // a folder; empty: none is written
  std::string plan;                                // the only one; empty: all
  std::string stacks;                              // of techniques (app/testing/plan_stacks.h)
  bool makes_own_runs = true;
};

// So many of them, as far from one another as can be.
template <typename Each>
void spread(std::vector<Each>& all, std::size_t most) {
  if (all.size() <= most) return;
  for (std::size_t i = 0; i < most; ++i) all[i] = Each(all[i * all.size() / most]);
  all.resize(most);
}

void write_stream(const model::AllocationStream& stream, const std::filesystem::path& file) {
  std::ofstream out(file);
  out << "born,died,bytes,phase,stage,owner,product,module\n";
  for (const model::StreamBlock& block : stream.blocks) {
    out << fmt::format("{},{},{},{},{},{},{:d},{}\n", block.born, block.died, block.bytes, block.phase, block.stage,
                       static_cast<int>(block.owner), block.product,
                       block.module < 0 ? "" : stream.modules[static_cast<std::size_t>(block.module)].name);
  }
}

void write_lives(const std::vector<plan::Life>& lives, const std::filesystem::path& file) {
  std::ofstream out(file);
  out << "born,died,bytes,phase\n";
  for (const plan::Life& life : lives) {
    out << fmt::format("{},{},{},{}\n", life.born, life.died, life.bytes, life.phase);
  }
}

int refuse(const base::Error& error) {
  fmt::print(stderr, "{}\n", error.what);
  return 2;
}

class Comparison {
 public:
  Comparison(job::Runner& runner, job::RunRequest plenty, Options options)
      : runner_(runner),
        plenty_(std::move(plenty)),
        options_(std::move(options)),
        began_ns_(base::steady_clock().now_ns()) {
    plenty_.quiet_child = true;
  }

  int run() {
    const auto outcome = runner_.run(plenty_, base::silent_progress());
    if (!outcome) return refuse(outcome.error());
    job_ = facts::build_job(*outcome->facts, outcome->result);
    target_.card = plenty_.cards.front().card;
    const auto* device = model::fullest(outcome->result);
    if (device == nullptr || job_.stage_peaks.empty()) return refuse({base::ErrorCode::kUnsupported, "nothing ran"});
    peak_ = device->peaks.device;
    target_.limit = plan::scaled(peak_, options_.of_peak);
    target_.keep_effective_batch = false;
    job_.oom = model::OomFacts{outcome->result.peak_phase, Bytes(), device->peaks.allocated, device->peaks.reserved};
    if (options_.makes_own_runs) measure();
    std::vector<const plan::Technique*> techniques;
    for (const plan::Technique* technique : plan::all_techniques()) {
      if (is_asked_for(*technique)) techniques.push_back(technique);
    }
    axes_ = plan::build_axes(job_, target_, techniques);
    const plan::StreamPlayer player(job_);
    const auto own = job_.streams.find("");
    tell({{"peak", peak_.count()},
          {"reserved", device->peaks.reserved.count()},
          {"allocated", device->peaks.allocated.count()},
          {"recorded", own == job_.streams.end() ? 0 : own->second->peak_reserved.count()},
          {"as_recorded", player.as_recorded().count()},
          {"is_sound", player.is_sound()},
          {"seconds", outcome->result.wall_seconds}});
    tell_left_out();
    for (const auto& [key, stream] : job_.streams) {
      if (!options_.blocks.empty() && stream) write_stream(*stream, file_of("of " + key));
    }
    if (options_.stacks.empty()) {
      for (const std::vector<std::uint8_t>& levels : choose()) compare(levels, player);
    }
    for (const app::Rung& rung : app::find_rungs(axes_, options_.stacks)) {
      if (rung.levels.empty()) tell({{"rung", rung.name}, {"outcome", "not for this job"}});
      if (!rung.levels.empty()) compare(rung.levels, player, rung.name);
    }
    return 0;
  }

 private:
  void tell(const json& line) { std::cout << line << std::endl; }

  // Whether it stands in one of the stacks asked for; all do where none is. All its options are then looked at.
  bool is_asked_for(const plan::Technique& technique) const {
    return options_.stacks.empty() || options_.stacks.find(technique.id()) != std::string::npos;
  }

  void measure() {
    for (const plan::Technique* technique : plan::all_techniques()) {
      if (technique->applies_to(job_, target_).standing != plan::Standing::kApplicable) continue;
      if (!is_asked_for(*technique)) continue;
      auto changes = technique->find_all_measurable(job_, target_);
      if (const auto* witness = technique->find_witness(job_, target_))
        changes.push_back(witness->find_measurable(job_, target_).value());
      for (const model::Change& change : changes) {
        if (job_.streams.contains(plan::measured_key(change))) continue;
        (void)app::measure_change(runner_, plenty_, change, place_ / "measured.json", job_);
      }
    }
  }

  void tell_left_out() {
    for (const plan::Technique* technique : plan::all_techniques()) {
      const plan::Applicability found = technique->applies_to(job_, target_);
      if (found.standing != plan::Standing::kApplicable)
        tell({{"technique", technique->id()}, {"reason", found.reason}});
    }
  }

  // Those that were proven before stay: which ones are spread evenly hangs on all that there are, with each build anew.
  void spread_beside_proven(std::vector<std::vector<std::uint8_t>>& plans, std::size_t most) const {
    const auto is_proven = [&](const std::vector<std::uint8_t>& levels) {
      plan::Candidate candidate;
      candidate.levels = levels;
      return options_.proven.contains(plan::explain(job_, target_, axes_, candidate).plan.name);
    };
    const auto others = std::ranges::stable_partition(plans, is_proven);
    std::vector<std::vector<std::uint8_t>> rest(others.begin(), others.end());
    plans.erase(others.begin(), others.end());
    spread(rest, plans.size() < most ? most - plans.size() : 0);
    plans.insert(plans.end(), rest.begin(), rest.end());
  }

  // The strongest option of each axis, then the middle and the mildest; then pairs of the strongest.
  std::vector<std::vector<std::uint8_t>> choose() const {
    std::vector<std::vector<std::uint8_t>> chosen, pairs;
    const std::vector<std::uint8_t> none(axes_.size(), 0);
    const auto add = [&](std::size_t axis, std::size_t level) {
      std::vector<std::uint8_t> levels = none;
      levels[axis] = static_cast<std::uint8_t>(level);
      if (std::ranges::find(chosen, levels) == chosen.end()) chosen.push_back(levels);
    };
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) add(axis, axes_[axis].options.size());
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      add(axis, (axes_[axis].options.size() + 1) / 2);
      add(axis, 1);
    }
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      for (std::size_t b = a + 1; b < axes_.size(); ++b) {
        if (axes_[a].technique->slot() == axes_[b].technique->slot()) continue;
        pairs.push_back(none);
        pairs.back()[a] = static_cast<std::uint8_t>((axes_[a].options.size() + 1) / 2);
        pairs.back()[b] = static_cast<std::uint8_t>(axes_[b].options.size());
      }
    }
    spread_beside_proven(chosen, options_.alone);
    spread_beside_proven(pairs, options_.pairs);
    chosen.insert(chosen.end(), pairs.begin(), pairs.end());
    return chosen;
  }

  void compare(const std::vector<std::uint8_t>& levels, const plan::StreamPlayer& player,
               const std::string& rung = "") {
    plan::Candidate candidate;
    candidate.levels = levels;
    const plan::Explained added = plan::explain(job_, target_, axes_, candidate);
    if (!options_.plan.empty() && added.plan.name != options_.plan) return;
    const std::int64_t began_ns = base::steady_clock().now_ns();
    const plan::Explained played = plan::explain(job_, target_, axes_, candidate, &player);
    const double seconds = base::seconds_between(began_ns, base::steady_clock().now_ns());
    const std::optional<json> proof = prove(added.plan);
    if (!proof) return;
    if (!options_.blocks.empty()) {
      const auto lives = plan::foretell_lives(job_, target_, axes_, candidate, player);
      if (lives) write_lives(*lives, file_of(added.plan.name + " foretold"));
    }
    json techniques = json::array();
    for (const model::Change& change : added.plan.changes) techniques.push_back(change.technique);
    json line = *proof;
    if (!rung.empty()) line["rung"] = rung;
    line["plan"] = added.plan.name;
    line["changes"] = json::parse(ingest::plan_to_json(added.plan))["techniques"];  // to run it again
    line["techniques"] = techniques;
    line["added"] = {{"uses", added.outlook.uses.count()}, {"needs", added.outlook.needs.count()}};
    line["played"] = {{"uses", played.outlook.uses.count()},
                      {"needs", played.outlook.needs.count()},
                      {"by", plan::name(played.outlook.made_by)},
                      {"low", plan::find_interval(played.outlook, kPlenty).low.count()},
                      {"high", plan::find_interval(played.outlook, kPlenty).high.count()},
                      {"reserved", (played.outlook.uses - job_.overhead).count()},
                      {"allocated", played.outlook.allocated.count()}};
    line["play_seconds"] = seconds;
    line["time_factor"] = added.time_factor;
    line["effect"] = plan::name(added.effect);
    tell(line);
  }

  std::filesystem::path file_of(const std::string& name) const {
    return std::filesystem::path(options_.blocks) / (name + ".csv");
  }

  // Two sets of as many modules have one name, and a build may choose another set.
  static bool is_same(const json& proven, const model::Plan& plan) {
    return !proven.contains("changes") || proven["changes"] == json::parse(ingest::plan_to_json(plan))["techniques"];
  }

  // Proves it by a run, or by one of before; nothing where neither is there.
  std::optional<json> prove(const model::Plan& plan) {
    const auto known = options_.proven.find(plan.name);
    if (known != options_.proven.end() && is_same(known->second, plan)) {
      json line = {{"outcome", known->second["outcome"]}, {"proven", known->second["proven"]}};
      if (known->second.contains("detail")) line["detail"] = known->second["detail"];
      return line;
    }
    if (base::seconds_between(began_ns_, base::steady_clock().now_ns()) > options_.seconds) return std::nullopt;
    job::RunRequest request = plenty_;
    request.plan = place_ / "plan.json";
    if (!ingest::write_plan(*request.plan, plan)) return std::nullopt;
    const auto outcome = runner_.run(request, base::silent_progress());
    if (!outcome) return std::nullopt;
    const plan::Proof proof = app::judge(*outcome, plan, {});
    if (!options_.blocks.empty()) {
      const auto stream = facts::find_allocation_stream(*outcome->facts, job_.device, outcome->result.torch);
      if (stream) write_stream(*stream, file_of(plan.name));
    }
    json line = {{"outcome", plan::name(proof.outcome)},
                 {"proven",
                  {{"device", proof.peak_device.count()},
                   {"reserved", proof.peak_reserved.count()},
                   {"allocated", proof.peak_allocated.count()}}}};
    if (!proof.detail.empty()) line["detail"] = proof.detail;
    return line;
  }

  job::Runner& runner_;
  job::RunRequest plenty_;
  const Options options_;
  const std::int64_t began_ns_;
  const std::filesystem::path place_ = [] {
    auto place = std::filesystem::temp_directory_path() / fmt::format("vramfit-forecast-{}", ::getpid());
    std::filesystem::create_directories(place);
    return place;
  }();
  model::Job job_;
  plan::Target target_;
  Bytes peak_;
  std::vector<plan::Axis> axes_;
};

std::map<std::string, json> read_proven(const std::string& path) {
  std::map<std::string, json> proven;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    json line = json::parse(text, nullptr, false);
    if (!line.is_object() || !line.contains("proven")) continue;
    const std::string plan = line["plan"];
    proven.emplace(plan, std::move(line));
  }
  return proven;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "vramfit_forecast_tool GPU SECONDS COMMAND...\n");
    return 2;
  }
  const auto catalogue = app::load_catalogue();
  if (!catalogue) return refuse(catalogue.error());
  const auto requests = devices::parse_gpu_option(argv[1]);
  if (!requests) return refuse(requests.error());
  const auto match = devices::find_card(*catalogue, requests->front().name);
  if (!match) return refuse(match.error());
  job::RunRequest request;
  request.cards = {{match->card, kPlenty}};
  Options options;
  options.seconds = std::stod(argv[2]);
  char** word = argv + 3;
  for (; word + 2 < argv + argc && std::string_view(*word).starts_with("--"); word += 2) {
    if (std::string_view(*word) == "--proven") options.proven = read_proven(word[1]);
    if (std::string_view(*word) == "--blocks") options.blocks = word[1];
    if (std::string_view(*word) == "--plan") options.plan = word[1];
    if (std::string_view(*word) == "--share") options.of_peak = std::stod(word[1]);
    if (std::string_view(*word) == "--own-runs") options.makes_own_runs = std::string_view(word[1]) != "0";
    if (std::string_view(*word) == "--stack") options.stacks = word[1];
    if (std::string_view(*word) == "--cases") std::sscanf(word[1], "%zu,%zu", &options.alone, &options.pairs);
  }
  request.command = {word, argv + argc};
  job::WarmRunner runner;
  return Comparison(runner, std::move(request), std::move(options)).run();
}
