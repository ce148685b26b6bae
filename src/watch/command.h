// Runs a command and tells what it took of each card at most: sampled, or exact where it ran on virtual cards.
#ifndef VRAMFIT_WATCH_COMMAND_H
#define VRAMFIT_WATCH_COMMAND_H

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/command_peaks.h"

namespace vramfit::watch {

struct CommandOptions {
  std::vector<std::string> command;
  std::int64_t interval_ns = 10'000'000;
};

// The command has our terminal, and hears Ctrl-C. Needs an InterruptScope around it.
base::Result<model::CommandPeaks> watch_command(const CommandOptions& options);

}  // namespace vramfit::watch

#endif
