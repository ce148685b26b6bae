// How near the planner's forecasts come to runs: for bench/forecast.
//
//   vramfit_forecast_tool GPU SECONDS [--proven LINES] python train.py ...
//
// LINES: what an earlier call told of the same job. Plans in it are foretold again and not run again, whatever the
// seconds.
//
// Runs the job with plenty of memory, then one plan after another: options of every technique alone, and pairs of them.
// A line of JSON each: what was added up, what was played (plan/stream), and what the run reserved at most. Techniques
// that are not for this job have a line each with the reason.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/catalogue.h"
#include "app/fit/measurement.h"
#include "app/fit/prover.h"
#include "base/clock.h"
#include "devices/catalogue.h"
#include "facts/job_builder.h"
#include "ingest/plan_file.h"
#include "job/warm_runner.h"
#include "plan/search/candidate.h"
#include "plan/stream/player.h"
#include "plan/techniques/registry.h"

namespace {

using namespace vramfit;
using base::Bytes;
using nlohmann::json;

constexpr double kOfPeak = 0.6;  // the card that options are made for
constexpr Bytes kPlenty = Bytes::gib(1024);

int refuse(const base::Error& error) {
  fmt::print(stderr, "{}\n", error.what);
  return 2;
}

class Comparison {
 public:
  Comparison(job::Runner& runner, job::RunRequest plenty, double seconds, std::map<std::string, json> proven)
      : runner_(runner),
        plenty_(std::move(plenty)),
        seconds_(seconds),
        began_ns_(base::steady_clock().now_ns()),
        proven_(std::move(proven)) {
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
    target_.limit = plan::scaled(peak_, kOfPeak);
    target_.keep_effective_batch = false;
    job_.oom = model::OomFacts{outcome->result.peak_phase, Bytes(), device->peaks.allocated, device->peaks.reserved};
    measure();
    std::vector<const plan::Technique*> techniques;
    for (const plan::Technique* technique : plan::all_techniques()) techniques.push_back(technique);
    axes_ = plan::build_axes(job_, target_, techniques);
    const plan::StreamPlayer player(job_);
    const auto own = job_.streams.find("");
    tell({{"peak", peak_.count()},
          {"recorded", own == job_.streams.end() ? 0 : own->second->peak_reserved.count()},
          {"as_recorded", player.as_recorded().count()},
          {"is_sound", player.is_sound()},
          {"seconds", outcome->result.wall_seconds}});
    tell_left_out();
    for (const std::vector<std::uint8_t>& levels : choose()) compare(levels, player);
    return 0;
  }

 private:
  void tell(const json& line) { std::cout << line << std::endl; }

  void measure() {
    for (const plan::Technique* technique : plan::all_techniques()) {
      if (technique->applies_to(job_, target_).standing != plan::Standing::kApplicable) continue;
      for (const model::Change& change : technique->find_all_measurable(job_, target_)) {
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

  // The strongest option of each axis, then the middle and the mildest; then pairs of the strongest.
  std::vector<std::vector<std::uint8_t>> choose() const {
    std::vector<std::vector<std::uint8_t>> chosen;
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
        chosen.push_back(none);
        chosen.back()[a] = static_cast<std::uint8_t>((axes_[a].options.size() + 1) / 2);
        chosen.back()[b] = static_cast<std::uint8_t>(axes_[b].options.size());
      }
    }
    return chosen;
  }

  void compare(const std::vector<std::uint8_t>& levels, const plan::StreamPlayer& player) {
    plan::Candidate candidate;
    candidate.levels = levels;
    const plan::Explained added = plan::explain(job_, target_, axes_, candidate);
    const std::int64_t began_ns = base::steady_clock().now_ns();
    const plan::Explained played = plan::explain(job_, target_, axes_, candidate, &player);
    const double seconds = base::seconds_between(began_ns, base::steady_clock().now_ns());
    const std::optional<json> proof = prove(added.plan);
    if (!proof) return;
    json techniques = json::array();
    for (const model::Change& change : added.plan.changes) techniques.push_back(change.technique);
    json line = *proof;
    line["plan"] = added.plan.name;
    line["techniques"] = techniques;
    line["added"] = {{"uses", added.outlook.uses.count()}, {"needs", added.outlook.needs.count()}};
    line["played"] = {{"uses", played.outlook.uses.count()},
                      {"needs", played.outlook.needs.count()},
                      {"allocated", played.outlook.allocated.count()}};
    line["play_seconds"] = seconds;
    line["time_factor"] = added.time_factor;
    line["effect"] = plan::name(added.effect);
    tell(line);
  }

  // By a run, or by one of before; nothing where neither is there.
  std::optional<json> prove(const model::Plan& plan) {
    if (const auto known = proven_.find(plan.name); known != proven_.end()) {
      json line = {{"outcome", known->second["outcome"]}, {"proven", known->second["proven"]}};
      if (known->second.contains("detail")) line["detail"] = known->second["detail"];
      return line;
    }
    if (base::seconds_between(began_ns_, base::steady_clock().now_ns()) > seconds_) return std::nullopt;
    job::RunRequest request = plenty_;
    request.plan = place_ / "plan.json";
    if (!ingest::write_plan(*request.plan, plan)) return std::nullopt;
    const auto outcome = runner_.run(request, base::silent_progress());
    if (!outcome) return std::nullopt;
    const plan::Proof proof = app::judge(*outcome, plan, {});
    json line = {{"outcome", plan::name(proof.outcome)},
                 {"proven", {{"device", proof.peak_device.count()}, {"allocated", proof.peak_allocated.count()}}}};
    if (!proof.detail.empty()) line["detail"] = proof.detail;
    return line;
  }

  job::Runner& runner_;
  job::RunRequest plenty_;
  const double seconds_;
  const std::int64_t began_ns_;
  const std::map<std::string, json> proven_;  // by the plan's name: lines of before
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
  const bool has_proven = argc > 5 && std::string_view(argv[3]) == "--proven";
  request.command = {argv + (has_proven ? 5 : 3), argv + argc};
  job::WarmRunner runner;
  return Comparison(runner, std::move(request), std::stod(argv[2]),
                    has_proven ? read_proven(argv[4]) : std::map<std::string, json>())
      .run();
}
