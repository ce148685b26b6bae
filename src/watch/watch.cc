#include "watch/watch.h"

#include <utility>

namespace vramfit::watch {

Watch::Watch(std::unique_ptr<MachineSource> source, WatchOptions options)
    : source_(std::move(source)), options_(std::move(options)), alerts_(options_.alerts) {}

base::Result<std::optional<WatchTick>> Watch::tick() {
  auto sample = source_->next();
  if (!sample) return std::unexpected(sample.error());
  if (!*sample) return std::nullopt;
  WatchTick tick{.sample = std::move(**sample)};
  if (options_.recorder) {
    if (const auto added = options_.recorder->add(tick.sample); !added) {
      tick.problems.push_back("not recorded: " + added.error().what);
      ++unrecorded_;
      why_unrecorded_ = added.error().what;
    }
  }
  for (const auto& sink : options_.sinks) {
    if (auto taken = sink(tick.sample); !taken) return std::unexpected(taken.error());
  }
  tick.alerts = alerts_.look(tick.sample, tick.sample.at_unix_ns);
  for (const Alert& alert : tick.alerts) {
    if (!alert.is_new || options_.alert_command.empty()) continue;
    if (const auto started = run_alert_command(options_.alert_command, alert); !started) {
      tick.problems.push_back(started.error().what);
    }
  }
  reap_alert_commands();
  return tick;
}

}  // namespace vramfit::watch
