#include "app/run.h"

#include <fmt/format.h>

#include "app/assemble.h"
#include "app/child_environment.h"
#include "app/environment.h"
#include "app/installation.h"
#include "app/session.h"
#include "base/interrupt.h"
#include "base/subprocess.h"
#include "devices/overhead.h"
#include "ingest/recording.h"

namespace vramfit::app {

namespace fs = std::filesystem;
using base::Result;

int cuda_major_of(const std::string& cuda) {
  const int major = std::atoi(cuda.c_str());
  return major > 0 ? major : 12;
}

std::vector<model::EmulatedCard> emulate_cards(const RunRequest& request, const std::string& cuda,
                                               const base::Environment& environment) {
  devices::OverheadOptions options;
  options.cuda_major = cuda_major_of(cuda);
  const auto loading = environment.find("CUDA_MODULE_LOADING");
  options.eager_loading = loading != environment.end() && loading->second == "EAGER";
  options.context = request.context;
  options.occupied = request.occupied;
  std::vector<model::EmulatedCard> cards;
  for (const CardChoice& choice : request.cards) {
    options.total = choice.total;
    cards.push_back(devices::emulate(choice.card, options));
  }
  return cards;
}

std::vector<model::Remark> context_remarks(const RunRequest& request, const std::string& cuda) {
  std::vector<model::Remark> remarks;
  std::string last;
  for (const CardChoice& choice : request.cards) {
    if (choice.card.key == last) continue;
    last = choice.card.key;
    devices::OverheadOptions options;
    options.cuda_major = cuda_major_of(cuda);
    options.context = request.context;
    const devices::Overhead overhead = devices::find_overhead(choice.card, options);
    remarks.push_back({fmt::format("CUDA context on {}: {} ± {}, then {} for kernels and handles ({})",
                                   choice.card.name, to_string(overhead.context), to_string(overhead.uncertainty),
                                   to_string(overhead.modules), overhead.source),
                       1});
  }
  return remarks;
}

Result<RunOutcome> ColdRunner::run(const RunRequest& request, base::ProgressSink& progress) {
  const auto installation = find_installation();
  if (!installation) return std::unexpected(installation.error());
  base::InterruptScope interrupts;
  EnvironmentRequest wanted;
  wanted.command = request.command;
  wanted.torch = request.torch;
  for (const CardChoice& choice : request.cards) wanted.cards.push_back(choice.card);
  wanted.environment = base::current_environment();
  auto job = choose_environment(wanted, progress);
  if (!job) return std::unexpected(job.error());
  for (const std::string& note : job->notes) progress.say(note);

  const std::string& cuda = job->interpreter.cuda;
  if (auto parts = check_parts(*installation, request.real, cuda_major_of(cuda)); !parts)
    return std::unexpected(parts.error());
  SessionOptions options;
  options.cards = emulate_cards(request, cuda, job->environment);
  options.driver_version = driver_version_for(cuda);
  options.keep_values = request.values == Values::kCpu;
  const auto session = Session::create(options);
  if (!session) return std::unexpected(session.error());

  base::Launch launch;
  launch.argv = job->command;
  launch.environment = child_environment(job->environment, *installation, request,
                                         {session->ledger_path(), session->run_folder(), cuda_major_of(cuda)});
  launch.timeout_seconds = request.timeout_seconds;
  launch.takes_terminal = !request.quiet_child;
  if (request.quiet_child) launch.output = request.child_output.empty() ? fs::path("/dev/null") : request.child_output;
  const auto ended = base::run_to_end(launch, nullptr);
  if (!ended) return std::unexpected(ended.error());

  RunOutcome outcome;
  auto recordings = ingest::read_run_folder(session->run_folder());
  if (!recordings) return std::unexpected(recordings.error());
  outcome.recordings = std::move(*recordings);
  Leftovers left;
  left.ended = *ended;
  left.cards = options.cards;
  left.ledger = session->ledger();
  left.recordings = &outcome.recordings;
  left.torch = job->interpreter.torch;
  left.cuda = cuda;
  left.python = job->interpreter.python;
  left.assumed = context_remarks(request, cuda);
  outcome.result = assemble(left);
  return outcome;
}

}  // namespace vramfit::app
