// What a process held on a real card besides PyTorch's memory, as an out-of-memory message in a log tells it.
#ifndef VRAMFIT_APP_MEASURED_OVERHEAD_H
#define VRAMFIT_APP_MEASURED_OVERHEAD_H

#include <filesystem>

#include "base/error.h"
#include "job/run.h"

namespace vramfit::app {

// The message of the file that leaves most for context and libraries, of those that print what this process has, what
// PyTorch allocated and what it reserved. An error when there is none, or when the figures of none add up.
base::Result<job::MeasuredOverhead> read_measured_overhead(const std::filesystem::path& path);

// What a process holds differs from card to card: an error when the message's card is another one.
base::Result<void> check_card(const job::MeasuredOverhead& held, const model::Card& card);

}  // namespace vramfit::app

#endif
