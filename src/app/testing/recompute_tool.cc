// The choice of what is run again in backward, by itself: for bench/recompute and tests/recompute.
//
//   vramfit_recompute_tool step GPU[:SIZE] python train.py ...   runs it, prints its fullest step   (VRAMFIT_HOME)
//   vramfit_recompute_tool solve < step.json                     with "budgets" added: the answers, one for each;
//                                                                with "sets" of modules: what each comes down to
//
// Step: {"modules": [{"name", "parent", ...}], "costs": [seconds], "end_peak", "peak"}, bytes allocated on the card;
// "costs_without_products": of modules that keep the results of their products, which are "products" bytes of each.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/catalogue.h"
#include "base/clock.h"
#include "devices/catalogue.h"
#include "facts/job_builder.h"
#include "job/run.h"
#include "plan/recompute/repeat_sets.h"
#include "plan/recompute/solver.h"

namespace {

using namespace vramfit;
using base::Bytes;
using nlohmann::json;

int refuse(const base::Error& error) {
  fmt::print(stderr, "{}\n", error.what);
  return 2;
}

json write_module(const model::StepModule& module) {
  return {{"name", module.name},
          {"parent", module.parent},
          {"may_repeat", module.may_repeat},
          {"freed", module.freed.count()},
          {"forward_peak", module.forward_peak.count()},
          {"after_peak", module.after_peak.count()},
          {"backward_peak", module.backward_peak.count()},
          {"repeat_rise", module.repeat_rise.count()},
          {"products", module.products.count()},
          {"macs", module.macs},
          {"bytes", module.bytes}};
}

model::StepModule read_module(const json& told) {
  model::StepModule module;
  const auto bytes = [&](const char* name) { return Bytes(told.at(name).get<std::int64_t>()); };
  module.name = told.at("name");
  module.parent = told.at("parent");
  module.may_repeat = told.value("may_repeat", true);
  module.freed = bytes("freed");
  module.forward_peak = bytes("forward_peak");
  module.after_peak = bytes("after_peak");
  module.backward_peak = bytes("backward_peak");
  module.repeat_rise = bytes("repeat_rise");
  return module;
}

int tell_step(const std::string& gpu, std::vector<std::string> command) {
  const auto catalogue = app::load_catalogue();
  if (!catalogue) return refuse(catalogue.error());
  const auto requests = devices::parse_gpu_option(gpu);
  if (!requests) return refuse(requests.error());
  const auto match = devices::find_card(*catalogue, requests->front().name);
  if (!match) return refuse(match.error());
  job::RunRequest request;
  request.cards = {{match->card, requests->front().total}};
  request.command = std::move(command);
  job::ColdRunner runner;
  const auto outcome = runner.run(request, base::silent_progress());
  if (!outcome) return refuse(outcome.error());
  const model::Job job = facts::build_job(*outcome->facts, outcome->result);
  if (!job.step_modules) {
    fmt::print(stderr, "no whole training step was seen\n");
    return 1;
  }
  json told = {{"costs", plan::repeat_seconds(job, match->card)},
               {"costs_without_products", plan::repeat_seconds(job, match->card, plan::Kept::kProducts)},
               {"end_peak", job.step_modules->end_peak.count()},
               {"peak", job.step_modules->peak.count()},
               {"modules", json::array()}};
  for (const model::StepModule& module : job.step_modules->modules) told["modules"].push_back(write_module(module));
  std::cout << told << "\n";
  return 0;
}

int tell_answers() {
  const json asked = json::parse(std::cin);
  model::StepModules step;
  for (const json& module : asked.at("modules")) step.modules.push_back(read_module(module));
  step.end_peak = Bytes(asked.at("end_peak").get<std::int64_t>());
  step.peak = Bytes(asked.at("peak").get<std::int64_t>());
  const auto costs = asked.at("costs").get<std::vector<double>>();
  plan::RepeatLimits limits;
  limits.most_answers = asked.value("most_answers", limits.most_answers);
  json told = {{"least_peak", plan::find_least_peak(step, costs).count()}, {"answers", json::array()}};
  for (const std::int64_t budget : asked.at("budgets")) {
    const std::int64_t began = base::steady_clock().now_ns();
    const auto answer = plan::find_repeats(step, costs, Bytes(budget), limits);
    json one = {{"budget", budget}, {"is_proven", answer.is_proven}};
    one["seconds"] = base::seconds_between(began, base::steady_clock().now_ns());
    if (answer.repeats) {
      one["modules"] = answer.repeats->modules;
      one["cost"] = answer.repeats->cost;
      one["bound"] = answer.repeats->bound;
      one["peak"] = plan::peak_with(step, answer.repeats->modules).count();
    }
    told["answers"].push_back(std::move(one));
  }
  for (const json& set : asked.value("sets", json::array())) {
    told["peaks"].push_back(plan::peak_with(step, set.get<std::vector<std::size_t>>()).count());
  }
  std::cout << told << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc < 2 ? "" : argv[1];
  if (mode == "solve" && argc == 2) return tell_answers();
  if (mode == "step" && argc > 3) return tell_step(argv[2], {argv + 3, argv + argc});
  fmt::print(stderr, "vramfit_recompute_tool step GPU COMMAND... | solve < STEP\n");
  return 2;
}
