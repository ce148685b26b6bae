// The use case behind `vramfit replay`: a memory snapshot through PyTorch's allocator again, at other settings and on
// another card.
#ifndef VRAMFIT_APP_REPLAY_REPLAY_H
#define VRAMFIT_APP_REPLAY_REPLAY_H

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/progress.h"
#include "job/run.h"
#include "model/replay_result.h"
#include "model/snapshot.h"

namespace vramfit::app {

struct ReplayRequest {
  std::filesystem::path file;
  std::optional<int> device;  // nothing: the first with a trace
  std::optional<job::CardChoice> card;
  std::optional<base::Bytes> capacity;  // what PyTorch may reserve
  std::optional<std::string> torch;     // whose rules; nothing: those that replay the recording best
  std::vector<std::string> settings;    // "key:value" each
  bool search = false;
};

base::Result<model::ReplayResult> replay(const ReplayRequest& request, base::ProgressSink& progress);
// The same for a snapshot that has been read.
base::Result<model::ReplayResult> replay(const model::Snapshot& snapshot, const ReplayRequest& request,
                                         base::ProgressSink& progress);

}  // namespace vramfit::app

#endif
