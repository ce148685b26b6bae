// Rows of the history's tables as model values and back.
#ifndef VRAMFIT_STORE_ROWS_H
#define VRAMFIT_STORE_ROWS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/stored_run.h"
#include "store/process.h"
#include "store/sqlite.h"

namespace vramfit::store {

// What read_run expects a SELECT to begin with.
inline constexpr std::string_view kRunColumns =
    "number, uuid, state, started_ms, ended_ms, verb, command, folder, script, script_hash, git_commit, git_branch, "
    "git_changes, host, version, card, plan, verdict, reason, exit_code, wall_seconds, torch, cuda, python, note, "
    "parent";
inline constexpr int kRunColumnCount = 26;

base::Result<model::StoredRun> read_run(const Statement& row);

// The row without what its end brings. Returns its number.
base::Result<std::int64_t> insert_run(Connection& connection, const model::StoredRun& run,
                                      const ProcessIdentity& process);
base::Result<void> update_end(Connection& connection, std::int64_t number, const model::RunEnd& end);

base::Result<void> insert_devices(Connection& connection, std::int64_t number,
                                  const std::vector<model::CardFigures>& devices);
base::Result<void> insert_phases(Connection& connection, std::int64_t number,
                                 const std::vector<model::PhaseResult>& phases);
base::Result<void> insert_findings(Connection& connection, std::int64_t number,
                                   const std::vector<model::StoredFinding>& findings);
base::Result<void> insert_tag(Connection& connection, std::int64_t number, const std::string& tag);

base::Result<std::vector<model::CardFigures>> select_devices(Connection& connection, std::int64_t number);
base::Result<std::vector<model::PhaseResult>> select_phases(Connection& connection, std::int64_t number);
base::Result<std::vector<model::StoredFinding>> select_findings(Connection& connection, std::int64_t number);
base::Result<std::vector<std::string>> select_tags(Connection& connection, std::int64_t number);

// Results are long JSON texts, kept compressed (zlib). An empty text stays empty.
std::string pack(std::string_view text);
base::Result<std::string> unpack(std::string_view packed);

}  // namespace vramfit::store

#endif
