#include "store/store.h"

#include <fmt/format.h>

#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <nlohmann/json.hpp>

#include "store/migrations.h"
#include "store/process.h"
#include "store/rows.h"

namespace vramfit::store {

using base::ErrorCode;
using base::fail;
using base::Result;
using model::RunState;
using model::StoredRun;

namespace {

constexpr int kBusyMs = 10'000;

template <class T>
std::unexpected<base::Error> pass_on(const Result<T>& failed) {
  return std::unexpected(failed.error());
}

std::unexpected<base::Error> at(base::Error error, const std::filesystem::path& path) {
  if (error.where.empty()) error.where = path.string();
  return std::unexpected(std::move(error));
}

// Another program's file stays as it is byte for byte: what opens it to write may already write, as it brings in what a
// log holds. What can't be looked at (a log that is to be rolled back) is for the caller's own connection to tell.
Result<void> refuse_strangers(const std::filesystem::path& path) {
  auto look = Connection::open_to_read(path, kBusyMs);
  if (!look) return {};
  auto own = refuse_strangers(*look);
  return own || own.error().code != ErrorCode::kUsage ? Result<void>() : own;
}

}  // namespace

Result<Store> Store::open(const std::filesystem::path& path) {
  std::error_code ignored;  // opening the file says what is wrong
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return base::fail(base::ErrorCode::kUsage, "this is no file, and can hold no history", path.string(),
                      "VRAMFIT_STORE=FILE, or none");
  }
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  if (std::filesystem::exists(status)) {
    if (auto own = refuse_strangers(path); !own) return at(own.error(), path);
  }
  auto connection = Connection::open(path, kBusyMs);
  if (!connection) return pass_on(connection);
  if (auto own = refuse_strangers(*connection); !own) return at(own.error(), path);
  // NORMAL with WAL: a killed process loses nothing; a power cut may lose the last runs, never the file.
  if (auto set =
          connection->execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON");
      !set) {
    return pass_on(set);
  }
  if (auto done = migrate(*connection); !done) return at(done.error(), path);
  Store store(std::move(*connection));
  if (auto done = store.mark_interrupted(); !done) return pass_on(done);
  return store;
}

Result<void> Store::mark_interrupted() {
  auto running = connection_.prepare("SELECT number, process, process_began, boot, host FROM runs WHERE state = ?1");
  if (!running) return pass_on(running);
  running->bind(1, to_string(RunState::kRunning));
  std::vector<std::int64_t> gone;
  while (true) {
    const auto row = running->step();
    if (!row) return pass_on(row);
    if (!*row) break;
    const ProcessIdentity process{running->integer(1), running->integer(2), running->text(3), running->text(4)};
    if (!may_live(process)) gone.push_back(running->integer(0));
  }
  running->reset();
  for (const std::int64_t number : gone) {
    auto update = connection_.prepare("UPDATE runs SET state = ?1 WHERE number = ?2 AND state = ?3");
    if (!update) return pass_on(update);
    update->bind(1, to_string(RunState::kInterrupted)).bind(2, number).bind(3, to_string(RunState::kRunning));
    if (auto done = update->run(); !done) return done;
  }
  return {};
}

Result<std::int64_t> Store::begin(const model::RunStart& start, std::int64_t now_ms) {
  StoredRun run;
  run.uuid = boost::uuids::to_string(boost::uuids::random_generator()());
  run.started_ms = now_ms;
  run.start = start;
  const ProcessIdentity process = current_process();
  run.start.host = process.host;
  return insert_run(connection_, run, process);
}

Result<void> Store::write_end(std::int64_t number, const model::RunEnd& end) {
  if (auto done = update_end(connection_, number, end); !done) return done;
  if (auto done = insert_devices(connection_, number, end.devices); !done) return done;
  if (auto done = insert_phases(connection_, number, end.phases); !done) return done;
  return insert_findings(connection_, number, end.findings);
}

Result<void> Store::finish(std::int64_t number, const model::RunEnd& end, std::int64_t now_ms) {
  auto transaction = Transaction::begin(connection_);
  if (!transaction) return pass_on(transaction);
  auto update = connection_.prepare("UPDATE runs SET state = ?1, ended_ms = ?2 WHERE number = ?3");
  if (!update) return pass_on(update);
  update->bind(1, to_string(RunState::kEnded)).bind(2, now_ms).bind(3, number);
  if (auto done = update->run(); !done) return done;
  if (connection_.changes() == 0) return require(number);
  if (auto done = write_end(number, end); !done) return done;
  return transaction->commit();
}

Result<void> Store::require(std::int64_t number) {
  auto found = connection_.prepare("SELECT 1 FROM runs WHERE number = ?1");
  if (!found) return pass_on(found);
  const auto row = found->bind(1, number).step();
  if (!row) return pass_on(row);
  if (*row) return {};
  return fail(ErrorCode::kNotFound, fmt::format("there is no run {}", number), "", "`vramfit runs` lists them");
}

Result<StoredRun> Store::find(std::int64_t number) {
  if (auto there = require(number); !there) return pass_on(there);
  auto statement = connection_.prepare(fmt::format("SELECT {}, result FROM runs WHERE number = ?1", kRunColumns));
  if (!statement) return pass_on(statement);
  const auto row = statement->bind(1, number).step();
  if (!row) return pass_on(row);
  auto run = read_run(*statement);
  if (!run) return run;
  auto result = unpack(statement->text(kRunColumnCount));
  if (!result) return pass_on(result);
  run->end.result = std::move(*result);
  if (auto done = read_lists(*run); !done) return pass_on(done);
  return run;
}

Result<std::int64_t> Store::number_of(std::string_view uuid) {
  auto found = connection_.prepare("SELECT number FROM runs WHERE uuid = ?1");
  if (!found) return pass_on(found);
  const auto row = found->bind(1, uuid).step();
  if (!row) return pass_on(row);
  return *row ? found->integer(0) : 0;
}

Result<void> Store::read_lists(StoredRun& run) {
  auto devices = select_devices(connection_, run.number);
  if (!devices) return pass_on(devices);
  run.end.devices = std::move(*devices);
  auto phases = select_phases(connection_, run.number);
  if (!phases) return pass_on(phases);
  run.end.phases = std::move(*phases);
  auto findings = select_findings(connection_, run.number);
  if (!findings) return pass_on(findings);
  run.end.findings = std::move(*findings);
  auto tags = select_tags(connection_, run.number);
  if (!tags) return pass_on(tags);
  run.tags = std::move(*tags);
  return {};
}

Result<std::vector<StoredRun>> Store::list(const model::RunFilter& filter) {
  auto statement = connection_.prepare(fmt::format(
      "SELECT {} FROM runs WHERE (?1 = '' OR verb = ?1) AND (?2 = '' OR verdict = ?2) AND (?3 IS NULL OR parent = ?3)"
      " AND (?6 OR parent IS NULL)"
      " AND (?4 = '' OR EXISTS (SELECT 1 FROM tags WHERE run = number AND tag = ?4)) ORDER BY number DESC LIMIT ?5",
      kRunColumns));
  if (!statement) return pass_on(statement);
  constexpr std::int64_t kAll = -1;
  statement->bind(1, std::string_view(filter.verb)).bind(2, std::string_view(filter.verdict)).bind(3, filter.parent);
  statement->bind(4, std::string_view(filter.tag)).bind(5, filter.most > 0 ? filter.most : kAll);
  statement->bind(6, std::int64_t{filter.with_trials});
  std::vector<StoredRun> runs;
  while (true) {
    const auto row = statement->step();
    if (!row) return pass_on(row);
    if (!*row) break;
    auto run = read_run(*statement);
    if (!run) return pass_on(run);
    runs.push_back(std::move(*run));
  }
  for (StoredRun& run : runs) {
    if (auto done = read_lists(run); !done) return pass_on(done);
  }
  return runs;
}

Result<std::int64_t> Store::process_of(std::int64_t number) {
  auto statement = connection_.prepare("SELECT process FROM runs WHERE number = ?1 AND host = ?2");
  if (!statement) return pass_on(statement);
  const auto row = statement->bind(1, number).bind(2, std::string_view(current_process().host)).step();
  if (!row) return pass_on(row);
  return *row && !statement->is_null(0) ? statement->integer(0) : 0;
}

Result<std::vector<std::int64_t>> Store::running() {
  auto statement = connection_.prepare("SELECT number FROM runs WHERE state = ?1 ORDER BY number DESC");
  if (!statement) return pass_on(statement);
  statement->bind(1, to_string(RunState::kRunning));
  std::vector<std::int64_t> numbers;
  while (true) {
    const auto row = statement->step();
    if (!row) return pass_on(row);
    if (!*row) return numbers;
    numbers.push_back(statement->integer(0));
  }
}

Result<std::string> Store::stamp() {
  auto statement = connection_.prepare(
      "SELECT count(*), ifnull(max(number), 0), ifnull(max(ended_ms), 0), ifnull(sum(state = ?1), 0) FROM runs");
  if (!statement) return pass_on(statement);
  const auto row = statement->bind(1, to_string(RunState::kRunning)).step();
  if (!row) return pass_on(row);
  return fmt::format("{}-{}-{}-{}", statement->integer(0), statement->integer(1), statement->integer(2),
                     statement->integer(3));
}

Result<void> Store::set_note(std::int64_t number, const std::string& note) {
  auto update = connection_.prepare("UPDATE runs SET note = ?1 WHERE number = ?2");
  if (!update) return pass_on(update);
  if (auto done = update->bind(1, std::string_view(note)).bind(2, number).run(); !done) return done;
  return connection_.changes() > 0 ? Result<void>() : require(number);
}

Result<void> Store::add_tag(std::int64_t number, const std::string& tag) {
  if (auto there = require(number); !there) return there;
  return insert_tag(connection_, number, tag);
}

Result<void> Store::remove_tag(std::int64_t number, const std::string& tag) {
  if (auto there = require(number); !there) return there;
  auto statement = connection_.prepare("DELETE FROM tags WHERE run = ?1 AND tag = ?2");
  if (!statement) return pass_on(statement);
  return statement->bind(1, number).bind(2, std::string_view(tag)).run();
}

Result<std::int64_t> Store::import_run(const StoredRun& run) {
  auto transaction = Transaction::begin(connection_);
  if (!transaction) return pass_on(transaction);
  auto known = connection_.prepare("SELECT 1 FROM runs WHERE uuid = ?1");
  if (!known) return pass_on(known);
  const auto row = known->bind(1, std::string_view(run.uuid)).step();
  if (!row) return pass_on(row);
  if (*row) return 0;
  known->reset();
  StoredRun copy = run;
  copy.start.parent.reset();  // numbers of another store mean nothing here
  if (copy.state == RunState::kRunning) copy.state = RunState::kInterrupted;  // nobody here can see it end
  const auto number = insert_run(connection_, copy, {});
  if (!number) return number;
  if (auto done = write_end(*number, run.end); !done) return pass_on(done);
  for (const std::string& tag : run.tags) {
    if (auto done = insert_tag(connection_, *number, tag); !done) return pass_on(done);
  }
  if (auto done = transaction->commit(); !done) return pass_on(done);
  return number;
}

Result<std::int64_t> Store::prune(std::int64_t keep) {
  auto statement = connection_.prepare(
      "DELETE FROM runs WHERE parent IS NULL AND note = '' AND state != ?1"
      " AND NOT EXISTS (SELECT 1 FROM tags WHERE run = number)"
      " AND number NOT IN (SELECT number FROM runs WHERE parent IS NULL ORDER BY number DESC LIMIT ?2)");
  if (!statement) return pass_on(statement);
  if (auto done = statement->bind(1, to_string(RunState::kRunning)).bind(2, keep).run(); !done) return pass_on(done);
  return connection_.changes();
}

Result<void> Store::remove(std::int64_t number) {
  if (auto there = require(number); !there) return there;
  auto statement = connection_.prepare("DELETE FROM runs WHERE number = ?1");
  if (!statement) return pass_on(statement);
  return statement->bind(1, number).run();
}

}  // namespace vramfit::store
