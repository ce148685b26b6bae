// The numbered history of runs, in one SQLite file (WAL): survives kill -9 at any instant, several writers, old
// formats.
//
//   begin() ── a row "running" ── finish() ── the same row "ended"
//                └── its process is gone when anybody opens the file next: "interrupted"
#ifndef VRAMFIT_STORE_STORE_H
#define VRAMFIT_STORE_STORE_H

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/stored_run.h"
#include "store/sqlite.h"

namespace vramfit::store {

class Store {
 public:
  // Makes the file and its folder when they are not there.
  static base::Result<Store> open(const std::filesystem::path& path);

  // Returns the run's number.
  base::Result<std::int64_t> begin(const model::RunStart& start, std::int64_t now_ms);
  base::Result<void> finish(std::int64_t number, const model::RunEnd& end, std::int64_t now_ms);

  base::Result<model::StoredRun> find(std::int64_t number);
  // 0: there is no such run here.
  base::Result<std::int64_t> number_of(std::string_view uuid);
  // Newest first, without results.
  base::Result<std::vector<model::StoredRun>> list(const model::RunFilter& filter);

  // The process of this machine that runs or ran it; 0 for a run of elsewhere.
  base::Result<std::int64_t> process_of(std::int64_t number);
  base::Result<std::vector<std::int64_t>> running();  // numbers, newest first
  // Differs from an earlier one when a run began, ended, died or was removed since.
  base::Result<std::string> stamp();

  base::Result<void> set_note(std::int64_t number, const std::string& note);
  base::Result<void> add_tag(std::int64_t number, const std::string& tag);
  base::Result<void> remove_tag(std::int64_t number, const std::string& tag);

  // A whole run from elsewhere. Returns its number here; 0: it is here already.
  base::Result<std::int64_t> import_run(const model::StoredRun& run);

  // Removes the oldest runs beyond `keep`; those with a note or a tag stay, and a sweep's trials go with it.
  base::Result<std::int64_t> prune(std::int64_t keep);
  base::Result<void> remove(std::int64_t number);

 private:
  explicit Store(Connection connection) : connection_(std::move(connection)) {}
  base::Result<void> mark_interrupted();
  base::Result<void> require(std::int64_t number);
  base::Result<void> write_end(std::int64_t number, const model::RunEnd& end);
  base::Result<void> read_lists(model::StoredRun& run);
  Connection connection_;
};

}  // namespace vramfit::store

#endif
