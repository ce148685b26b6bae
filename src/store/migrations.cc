#include "store/migrations.h"

#include <fmt/format.h>

#include <array>

namespace vramfit::store {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

// Steps are never edited once released: files out there have had them.
constexpr std::array kSteps = {
    // 1: runs with their peaks. AUTOINCREMENT, so that the number of a deleted run never means another one.
    R"(CREATE TABLE runs (
         number INTEGER PRIMARY KEY AUTOINCREMENT,
         uuid TEXT NOT NULL UNIQUE,
         state TEXT NOT NULL,
         process INTEGER, process_began INTEGER, boot TEXT,
         started_ms INTEGER NOT NULL, ended_ms INTEGER,
         verb TEXT NOT NULL, command TEXT NOT NULL, folder TEXT NOT NULL, script TEXT NOT NULL,
         script_hash TEXT NOT NULL, git_commit TEXT NOT NULL, git_branch TEXT NOT NULL, git_changes INTEGER NOT NULL,
         host TEXT NOT NULL, version TEXT NOT NULL, card TEXT NOT NULL, plan TEXT NOT NULL,
         verdict TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL DEFAULT '', exit_code INTEGER NOT NULL DEFAULT 0,
         wall_seconds REAL NOT NULL DEFAULT 0, torch TEXT NOT NULL DEFAULT '', cuda TEXT NOT NULL DEFAULT '',
         python TEXT NOT NULL DEFAULT '', result BLOB, note TEXT NOT NULL DEFAULT '');
       CREATE TABLE devices (
         run INTEGER NOT NULL REFERENCES runs(number) ON DELETE CASCADE, position INTEGER NOT NULL,
         card_index INTEGER NOT NULL, name TEXT NOT NULL, total INTEGER NOT NULL, context INTEGER NOT NULL,
         libraries INTEGER NOT NULL, allocated INTEGER NOT NULL, reserved INTEGER NOT NULL, device INTEGER NOT NULL,
         retries INTEGER NOT NULL, PRIMARY KEY (run, position));
       CREATE TABLE phases (
         run INTEGER NOT NULL REFERENCES runs(number) ON DELETE CASCADE, position INTEGER NOT NULL,
         name TEXT NOT NULL, card_index INTEGER NOT NULL, allocated INTEGER NOT NULL, reserved INTEGER NOT NULL,
         device INTEGER NOT NULL, steps INTEGER NOT NULL, PRIMARY KEY (run, position));)",
    // 2: tags, findings, and the sweep that a run is a trial of.
    R"(CREATE TABLE tags (
         run INTEGER NOT NULL REFERENCES runs(number) ON DELETE CASCADE, tag TEXT NOT NULL, PRIMARY KEY (run, tag));
       CREATE TABLE findings (
         run INTEGER NOT NULL REFERENCES runs(number) ON DELETE CASCADE, position INTEGER NOT NULL,
         code TEXT NOT NULL, label TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (run, position));
       ALTER TABLE runs ADD COLUMN parent INTEGER REFERENCES runs(number) ON DELETE CASCADE;
       CREATE INDEX runs_by_parent ON runs(parent);
       CREATE INDEX tags_by_name ON tags(tag);)",
    // 3: figures of a card that nothing measured are NULL, which were 0 until then: of a run none of whose cards was
    // used all of them, of a watch all but what the driver counts.
    R"(CREATE TABLE figures (
         run INTEGER NOT NULL REFERENCES runs(number) ON DELETE CASCADE, position INTEGER NOT NULL,
         card_index INTEGER NOT NULL, name TEXT NOT NULL, total INTEGER, context INTEGER, libraries INTEGER,
         allocated INTEGER, reserved INTEGER, device INTEGER, retries INTEGER NOT NULL, PRIMARY KEY (run, position));
       INSERT INTO figures SELECT run, position, card_index, name, nullif(total, 0), context, libraries, allocated,
         reserved, device, retries FROM devices;
       UPDATE figures SET context = NULL, libraries = NULL, allocated = NULL, reserved = NULL, device = NULL
         WHERE run NOT IN (SELECT run FROM devices WHERE device > 0);
       UPDATE figures SET context = NULL, libraries = NULL, allocated = NULL, reserved = NULL
         WHERE run IN (SELECT number FROM runs WHERE verb = 'watch');
       DROP TABLE devices;
       ALTER TABLE figures RENAME TO devices;)",
};

// What says that a file is ours: "vram" in the four bytes that SQLite leaves for it (application_id).
constexpr std::int64_t kApplication = 0x7672616d;
// Files of these formats may lack it: they were made before it was written.
constexpr std::int64_t kLastUnmarked = 3;

Result<void> mark_as_ours(Connection& connection) {
  return connection.execute(fmt::format("PRAGMA application_id = {}", kApplication));
}

Result<int> read_schema(Connection& connection) {
  auto statement = connection.prepare("PRAGMA user_version");
  if (!statement) return std::unexpected(statement.error());
  const auto row = statement->step();
  if (!row) return std::unexpected(row.error());
  return static_cast<int>(statement->integer(0));
}

// Another process may have migrated between our look and our lock: the version is read again under it.
Result<bool> take_step(Connection& connection, int wanted) {
  auto transaction = Transaction::begin(connection);
  if (!transaction) return std::unexpected(transaction.error());
  const auto schema = read_schema(connection);
  if (!schema) return std::unexpected(schema.error());
  if (*schema >= wanted) return false;
  if (auto done = connection.execute(kSteps[static_cast<std::size_t>(*schema)]); !done) {
    return std::unexpected(done.error());
  }
  if (auto done = connection.execute(fmt::format("PRAGMA user_version = {}", *schema + 1)); !done) {
    return std::unexpected(done.error());
  }
  if (auto done = mark_as_ours(connection); !done) return std::unexpected(done.error());
  if (auto done = transaction->commit(); !done) return std::unexpected(done.error());
  return true;
}

}  // namespace

Result<void> refuse_strangers(Connection& connection) {
  // One statement, and so one moment: another vramfit may be making this file right now.
  auto marks = connection.prepare(
      "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
      "FROM pragma_application_id, pragma_user_version");
  if (!marks) return std::unexpected(marks.error());
  if (const auto row = marks->step(); !row) return std::unexpected(row.error());
  const std::int64_t application = marks->integer(0), version = marks->integer(1), entries = marks->integer(2);
  if (application == kApplication) return {};
  if (application == 0 && version == 0 && entries == 0) return {};  // a new file
  if (application == 0 && version > 0 && version <= kLastUnmarked) {
    // What step 1 made, and no step takes away.
    auto own = connection.prepare(
        "SELECT count(*) FROM pragma_table_info('runs') WHERE name IN ('number', 'uuid', 'script_hash', "
        "'process_began')");
    if (!own) return std::unexpected(own.error());
    if (const auto row = own->step(); !row) return std::unexpected(row.error());
    constexpr std::int64_t kAll = 4;
    if (own->integer(0) == kAll) return {};
  }
  return fail(ErrorCode::kUsage, "this SQLite database is another program's, and no run history", "",
              "name a file of vramfit's own with VRAMFIT_STORE: a new one is made");
}

int newest_schema() { return static_cast<int>(kSteps.size()); }

Result<void> migrate(Connection& connection, int wanted) {
  const auto schema = read_schema(connection);
  if (!schema) return std::unexpected(schema.error());
  if (*schema > newest_schema()) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("the run history was written by a newer vramfit (format {}, this one knows {})", *schema,
                            newest_schema()),
                "", "update vramfit, or name another file with VRAMFIT_STORE");
  }
  if (*schema >= wanted) return {};
  while (true) {
    const auto stepped = take_step(connection, wanted);
    if (!stepped) return std::unexpected(stepped.error());
    if (!*stepped) return {};
  }
}

}  // namespace vramfit::store
