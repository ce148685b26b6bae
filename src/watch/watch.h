// The use case behind `vramfit watch`: sample after sample, each handed to whoever wants it.
#ifndef VRAMFIT_WATCH_WATCH_H
#define VRAMFIT_WATCH_WATCH_H

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/machine.h"
#include "watch/alert.h"
#include "watch/recording.h"
#include "watch/source.h"

namespace vramfit::watch {

struct WatchOptions {
  std::vector<AlertRule> alerts;
  std::string alert_command;  // run when an alert begins; may be empty
  std::optional<WatchRecorder> recorder;
  // Files, metrics: each gets every sample, in this order.
  std::vector<std::function<base::Result<void>(const model::MachineSample&)>> sinks;
};

struct WatchTick {
  model::MachineSample sample;
  std::vector<Alert> alerts;          // that hold now
  std::vector<std::string> problems;  // of recorder and alert commands; watching goes on
};

class Watch {
 public:
  Watch(std::unique_ptr<MachineSource> source, WatchOptions options);

  // Nothing at the end of a recording. An error of a sink ends the watch: its reader is gone.
  base::Result<std::optional<WatchTick>> tick();
  // Samples that the recorder could not write, and why the last of them; of a recording that is read, what is lost.
  std::int64_t unrecorded() const { return unrecorded_; }
  const std::string& why_unrecorded() const { return why_unrecorded_; }
  LostSamples lost() const { return source_->lost(); }

 private:
  std::unique_ptr<MachineSource> source_;
  WatchOptions options_;
  AlertWatch alerts_;
  std::int64_t unrecorded_ = 0;
  std::string why_unrecorded_;
};

}  // namespace vramfit::watch

#endif
