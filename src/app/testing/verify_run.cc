// Runs a command as `vramfit run` or `vramfit fit` does and checks the answer with src/verify, which counts in other
// ways. tests/verify calls it with real training scripts.
//
//   vramfit_verify_run run|fit|forecast GPU[:SIZE][,GPU...] python train.py ...     VRAMFIT_HOME: the installation
//
// Prints what was looked at and each disagreement; exit code 0: there is none, 1: there are, 2: it could not run.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "app/catalogue.h"
#include "app/fit/fit.h"
#include "app/testing/verify_forecast.h"
#include "base/clock.h"
#include "devices/catalogue.h"
#include "facts/recordings.h"
#include "job/run.h"
#include "verify/fit.h"
#include "verify/peaks.h"
#include "verify/placement.h"

namespace {

using namespace vramfit;

// Every pair of them is looked at.
constexpr std::size_t kMostBlocks = 8000;

int refuse(const base::Error& error) {
  fmt::print(stderr, "{}\n", error.what);
  return 2;
}

base::Result<std::vector<job::CardChoice>> choose_cards(std::string_view option) {
  const auto catalogue = app::load_catalogue();
  if (!catalogue) return std::unexpected(catalogue.error());
  const auto requests = devices::parse_gpu_option(option);
  if (!requests) return std::unexpected(requests.error());
  std::vector<job::CardChoice> cards;
  for (const devices::CardRequest& request : *requests) {
    const auto match = devices::find_card(*catalogue, request.name);
    if (!match) return std::unexpected(match.error());
    cards.insert(cards.end(), static_cast<std::size_t>(request.count), {match->card, request.total});
  }
  return cards;
}

template <class Element>
std::vector<verify::Placed> placed(const std::vector<Element>& all, int process, std::size_t most) {
  std::vector<verify::Placed> found;
  for (const Element& one : all) {
    if (found.size() == most) break;
    if (one.process == process) found.push_back({one.address, one.size.count(), one.born, one.died});
  }
  return found;
}

int tell(const std::vector<std::string>& wrong) {
  for (const std::string& one : wrong) fmt::print("{}\n", one);
  return wrong.empty() ? 0 : 1;
}

int verify_run(const job::RunRequest& request) {
  job::ColdRunner runner;
  const auto outcome = runner.run(request, base::silent_progress());
  if (!outcome) return refuse(outcome.error());
  const facts::RunFacts& facts = *outcome->facts;
  const std::vector<model::Recording>& recordings = facts::recordings_of(facts);
  std::vector<std::string> wrong = verify::check_peaks(recordings, outcome->result);
  std::size_t records = 0, blocks = 0, segments = 0;
  for (const model::Recording& recording : recordings) records += recording.records.size();
  for (const liveness::CardHistory& history : facts.histories) {
    for (int process = 0; process < std::ssize(recordings); ++process) {
      const auto of_process = placed(history.blocks, process, kMostBlocks);
      const auto around = placed(history.segments, process, history.segments.size());
      for (std::string& one : verify::check_placement(of_process, around)) wrong.push_back(std::move(one));
      blocks += of_process.size();
      segments += around.size();
    }
  }
  fmt::print("{} processes, {} records, {} blocks in {} segments, {}\n", recordings.size(), records, blocks, segments,
             to_string(outcome->result.verdict));
  return tell(wrong);
}

int verify_fit(job::RunRequest request, std::string gpu) {
  app::FitRequest wanted;
  wanted.run = std::move(request);
  wanted.gpu = std::move(gpu);
  wanted.verify = false;  // another comparison, with tests of its own
  job::ColdRunner runner;
  const auto result = app::fit(wanted, runner, base::silent_progress(), base::steady_clock());
  if (!result) return refuse(result.error());
  fmt::print("{}, {} plans proven, {} runs\n", to_string(result->verdict), result->plans.size(), result->runs);
  return tell(verify::check_fit(*result));
}

// Runs the job with plenty of memory, as the planner's free run.
int verify_forecast(job::RunRequest request) {
  for (job::CardChoice& choice : request.cards) choice.total = base::Bytes::gib(1024);
  job::ColdRunner runner;
  const auto outcome = runner.run(request, base::silent_progress());
  if (!outcome) return refuse(outcome.error());
  const app::VerifiedForecasts verified = app::verify_forecasts(*outcome, request.cards.front().card);
  for (const std::string& line : verified.lines) fmt::print("{}\n", line);
  fmt::print("{} forecasts counted, {} not\n", verified.counted, verified.left_out);
  return tell(verified.wrong);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc < 4 ? "" : argv[1];
  if (mode != "run" && mode != "fit" && mode != "forecast") {
    fmt::print(stderr, "vramfit_verify_run run|fit|forecast GPU COMMAND...\n");
    return 2;
  }
  job::RunRequest request;
  auto cards = choose_cards(argv[2]);
  if (!cards) return refuse(cards.error());
  request.cards = std::move(*cards);
  request.command.assign(argv + 3, argv + argc);
  if (mode == "forecast") return verify_forecast(std::move(request));
  return mode == "run" ? verify_run(request) : verify_fit(std::move(request), argv[2]);
}
