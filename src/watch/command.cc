#include "watch/command.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/job_control.h"
#include "base/subprocess.h"
#include "probe/ledger_source.h"
#include "probe/proc_text.h"
#include "probe/process_table.h"
#include "watch/peaks.h"
#include "watch/source.h"

namespace vramfit::watch {

namespace {

// Whether a process descends from us: its orphans fall to us, so every line of parents ends here or elsewhere for good.
class Family {
 public:
  bool holds(std::int64_t pid) {
    const auto known = known_.find(pid);
    if (known != known_.end()) return known->second;
    bool ours = false;
    std::int64_t at = pid;
    for (int generation = 0; at > 1 && generation < 64; ++generation) {
      if (at == ::getpid()) {
        ours = pid != at;
        break;
      }
      const auto stat = probe::parse_stat(probe::read_small(fmt::format("/proc/{}/stat", at)).value_or(""));
      if (!stat) break;
      at = stat->parent;
    }
    return known_[pid] = ours;
  }

 private:
  std::map<std::int64_t, bool> known_;
};

// Samples on a thread of its own, at a steady pace.
class Sampler {
 public:
  explicit Sampler(std::int64_t interval_ns)
      : interval_ns_(interval_ns),
        source_(open_machine({.interval_ns = interval_ns})),
        ledgers_("/dev/shm", interval_ns),
        collector_([this](const auto& one) { return family_.holds(one.pid); }) {}

  void look(double seconds) {
    if (const auto sample = source_->next(); sample && *sample) {
      collector_.add(**sample, seconds);
      problem_ = (**sample).driver.problem;
    }
    for (const auto& view : ledgers_.sessions(base::steady_clock().now_ns())) {
      if (!own_sessions_.contains(view.session()) && family_.holds(view.owner())) {
        own_sessions_.emplace(view.session(), view);
      }
    }
  }

  void run(const std::stop_token& stop, std::int64_t start_ns) {
    const base::Clock& clock = base::steady_clock();
    const base::Clock& awake = base::awake_clock();
    std::int64_t due = clock.now_ns();
    while (!stop.stop_requested()) {
      look(base::seconds_between(start_ns, awake.now_ns()));
      due = std::max(due + interval_ns_, clock.now_ns());
      const timespec until{due / 1'000'000'000, due % 1'000'000'000};
      ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    }
  }

  void finish(model::CommandPeaks& peaks) {
    for (auto& [session, view] : own_sessions_) {
      static_cast<void>(view.read_again());  // else its peaks are those of the last look
      const vf_ledger& ledger = view.ledger();
      for (std::uint32_t i = 0; i < ledger.card_count; ++i) {
        const std::int64_t own = ledger.use[i].peak_used_bytes - ledger.cards[i].occupied_bytes;
        collector_.set_exact(fmt::format("{}@{}", probe::uuid_of(ledger.cards[i]), session), own);
      }
    }
    peaks.cards = collector_.cards();
    // Virtual cards of other people's sessions were there by chance.
    std::erase_if(peaks.cards, [&](const model::CardPeak& card) {
      return !card.session.empty() && !own_sessions_.contains(card.session);
    });
    peaks.samples = collector_.samples();
    peaks.longest_gap_seconds = collector_.longest_gap_seconds();
    peaks.driver_problem = problem_;
  }

 private:
  std::int64_t interval_ns_;
  std::unique_ptr<MachineSource> source_;
  probe::LedgerSource ledgers_;
  std::map<std::string, probe::LedgerView> own_sessions_;  // stay readable when the session is over
  Family family_;
  PeakCollector collector_;
  std::string problem_;
};

}  // namespace

base::Result<model::CommandPeaks> watch_command(const CommandOptions& options) {
  Sampler sampler(options.interval_ns);
  sampler.look(0);  // the cards before
  const std::int64_t start = base::awake_clock().now_ns();
  std::jthread thread([&](const std::stop_token& stop) { sampler.run(stop, start); });
  const base::Launch launch{
      .argv = options.command, .environment = base::current_environment(), .takes_terminal = true};
  const auto ended = base::run_to_end(launch, {});
  thread.request_stop();
  thread.join();
  if (!ended) return std::unexpected(ended.error());
  model::CommandPeaks peaks{.exit_code = ended->shell_code(),
                            .wall_seconds = ended->wall_seconds,
                            .host_peak_bytes = ended->peak_resident_bytes,
                            .interval_seconds = static_cast<double>(options.interval_ns) * 1e-9};
  for (const std::string& word : options.command) peaks.command += (peaks.command.empty() ? "" : " ") + word;
  sampler.finish(peaks);
  return peaks;
}

}  // namespace vramfit::watch
