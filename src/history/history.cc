#include "history/history.h"

#include <algorithm>

#include "base/file.h"
#include "history/run_book.h"
#include "ingest/history_file.h"
#include "ingest/stored_sweep.h"

namespace vramfit::history {

using base::Result;

Result<History> History::open() {
  auto store = open_store();
  if (!store) return std::unexpected(store.error());
  return History(std::move(*store));
}

Result<std::vector<model::StoredRun>> History::load(const std::vector<std::int64_t>& numbers,
                                                    const model::RunFilter& filter) {
  std::vector<std::int64_t> wanted = numbers;
  if (wanted.empty()) {
    const auto listed = store_.list(filter);
    if (!listed) return std::unexpected(listed.error());
    for (const model::StoredRun& run : *listed) wanted.push_back(run.number);
    std::ranges::reverse(wanted);
  }
  std::vector<model::StoredRun> runs;
  for (const std::int64_t number : wanted) {
    auto run = store_.find(number);
    if (!run) return std::unexpected(run.error());
    runs.push_back(std::move(*run));
  }
  return runs;
}

FindRun History::find_run() {
  return [this](std::string_view uuid) { return store_.number_of(uuid).value_or(0); };
}

Result<Imported> History::import_file(const std::string& file) {
  const auto text = base::read_file(file);
  if (!text) return std::unexpected(text.error());
  const auto runs = ingest::parse_history(*text, file);
  if (!runs) return std::unexpected(runs.error());
  Imported imported;
  for (const model::StoredRun& run : *runs) {
    const auto number = store_.import_run(run);
    if (!number) return std::unexpected(number.error());
    ++(*number > 0 ? imported.taken : imported.known);
  }
  return imported;
}

base::Result<model::SweepResult> read_sweep(const model::StoredRun& run) {
  if (run.start.verb != "sweep") return base::fail(base::ErrorCode::kUsage, "the run is no sweep");
  return ingest::read_stored_sweep(run.end.result);
}

}  // namespace vramfit::history
