#include "app/verify.h"

#include <limits>
#include <utility>

#include "app/equivalence/verifier.h"
#include "base/interrupt.h"
#include "ingest/plan_file.h"
#include "job/session.h"
#include "plan/plan_check.h"

namespace vramfit::app {

using base::Result;

Result<model::VerifyResult> verify(const job::RunRequest& request, job::Runner& runner, base::ProgressSink& progress,
                                   const base::Clock& clock) {
  if (request.real || request.cards.empty()) {
    return base::fail(base::ErrorCode::kUsage, "verify works on virtual cards, whose values the CPU computes", "--gpu",
                      "name the card, as in --gpu \"RTX 3060\"");
  }
  const std::filesystem::path file = request.plan.value_or("");
  const auto plan = ingest::read_plan(file);
  if (!plan) return std::unexpected(plan.error());
  if (auto checked = plan::check_plan(*plan, file.string()); !checked) return std::unexpected(checked.error());
  const base::InterruptScope interrupts;
  if (auto prepared = runner.prepare(request, progress); !prepared) return std::unexpected(prepared.error());
  const auto session = job::Session::create({});  // only for its folder, which goes with it, or with the next run
  if (!session) return std::unexpected(session.error());
  const std::int64_t started_ns = clock.now_ns();
  Verifier verifier(request, session->run_folder(), runner, clock);
  auto verified = verifier.compare(*plan, std::numeric_limits<double>::infinity(),
                                   [&](std::string_view line) { progress.update(line); });
  progress.clear();
  if (!verified) return std::unexpected(verified.error());
  model::VerifyResult result;
  result.plan = plan->name;
  result.card = request.cards.front().card.name;
  result.equivalence = std::move(verified->equivalence);
  result.refused = verified->refused;
  result.untested = verifier.untested();
  result.runs = verifier.runs();
  result.seconds = base::seconds_between(started_ns, clock.now_ns());
  return result;
}

}  // namespace vramfit::app
