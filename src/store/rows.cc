#include "store/rows.h"

#include <zlib.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace vramfit::store {

using base::Bytes;
using base::ErrorCode;
using base::fail;
using base::Result;
using nlohmann::json;

namespace {

Result<std::vector<std::string>> parse_words(const std::string& text) {
  const json words = json::parse(text, nullptr, false);
  if (!words.is_array()) return fail(ErrorCode::kCorrupt, "a stored command is not a list of words", "run history");
  std::vector<std::string> command;
  for (const json& word : words) {
    if (!word.is_string()) return fail(ErrorCode::kCorrupt, "a stored command is not a list of words", "run history");
    command.push_back(word.get<std::string>());
  }
  return command;
}

std::optional<std::int64_t> number_of(const std::optional<Bytes>& bytes) {
  return bytes ? std::optional(bytes->count()) : std::nullopt;
}

// Prepares, lets `fill` bind each element's values, and runs it once per element.
template <class Element, class Fill>
Result<void> insert_each(Connection& connection, std::string_view sql, const std::vector<Element>& elements,
                         const Fill& fill) {
  auto statement = connection.prepare(sql);
  if (!statement) return std::unexpected(statement.error());
  std::int64_t position = 0;
  for (const Element& element : elements) {
    statement->reset();
    fill(*statement, position++, element);
    if (auto done = statement->run(); !done) return done;
  }
  return {};
}

template <class Element, class Read>
Result<std::vector<Element>> select_each(Connection& connection, std::string_view sql, std::int64_t number,
                                         const Read& read) {
  auto statement = connection.prepare(sql);
  if (!statement) return std::unexpected(statement.error());
  statement->bind(1, number);
  std::vector<Element> elements;
  while (true) {
    const auto row = statement->step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return elements;
    elements.push_back(read(*statement));
  }
}

// A command's words may hold any bytes; JSON may not: what is not UTF-8 is replaced.
std::string words_to_text(const std::vector<std::string>& words) { return base::json_line(json(words)); }

}  // namespace

Result<model::StoredRun> read_run(const Statement& row) {
  model::StoredRun run;
  run.number = row.integer(0);
  run.uuid = row.text(1);
  const auto state = model::parse_run_state(row.text(2));
  if (!state) return fail(ErrorCode::kCorrupt, "a run is in state \"" + row.text(2) + "\"", "run history");
  run.state = *state;
  run.started_ms = row.integer(3);
  if (!row.is_null(4)) run.ended_ms = row.integer(4);
  auto command = parse_words(row.text(6));
  if (!command) return std::unexpected(command.error());
  run.start = {.verb = row.text(5),
               .command = std::move(*command),
               .folder = row.text(7),
               .script = row.text(8),
               .script_hash = row.text(9),
               .git = {row.text(10), row.text(11), row.integer(12) != 0},
               .host = row.text(13),
               .version = row.text(14),
               .card = row.text(15),
               .plan = row.text(16)};
  run.end.verdict = row.text(17);
  run.end.reason = row.text(18);
  run.end.exit_code = static_cast<int>(row.integer(19));
  run.end.wall_seconds = row.real(20);
  run.end.torch = row.text(21);
  run.end.cuda = row.text(22);
  run.end.python = row.text(23);
  run.note = row.text(24);
  if (!row.is_null(25)) run.start.parent = row.integer(25);
  return run;
}

Result<std::int64_t> insert_run(Connection& connection, const model::StoredRun& run, const ProcessIdentity& process) {
  auto insert = connection.prepare(
      "INSERT INTO runs (uuid, state, process, process_began, boot, started_ms, ended_ms, verb, command, folder, "
      "script, script_hash, git_commit, git_branch, git_changes, host, version, card, plan, note, parent) "
      "VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21)");
  if (!insert) return std::unexpected(insert.error());
  const model::RunStart& start = run.start;
  insert->bind(1, std::string_view(run.uuid)).bind(2, to_string(run.state));
  insert->bind(3, process.id).bind(4, process.began).bind(5, std::string_view(process.boot));
  insert->bind(6, run.started_ms).bind(7, run.ended_ms).bind(8, std::string_view(start.verb));
  insert->bind(9, std::string_view(words_to_text(start.command))).bind(10, std::string_view(start.folder));
  insert->bind(11, std::string_view(start.script)).bind(12, std::string_view(start.script_hash));
  insert->bind(13, std::string_view(start.git.commit)).bind(14, std::string_view(start.git.branch));
  insert->bind(15, std::int64_t{start.git.has_changes}).bind(16, std::string_view(start.host));
  insert->bind(17, std::string_view(start.version)).bind(18, std::string_view(start.card));
  insert->bind(19, std::string_view(start.plan)).bind(20, std::string_view(run.note)).bind(21, start.parent);
  if (auto done = insert->run(); !done) return std::unexpected(done.error());
  return connection.last_row();
}

Result<void> update_end(Connection& connection, std::int64_t number, const model::RunEnd& end) {
  auto update = connection.prepare(
      "UPDATE runs SET verdict = ?1, reason = ?2, exit_code = ?3, wall_seconds = ?4, torch = ?5, cuda = ?6, "
      "python = ?7, result = ?8 WHERE number = ?9");
  if (!update) return std::unexpected(update.error());
  update->bind(1, std::string_view(end.verdict)).bind(2, std::string_view(end.reason));
  update->bind(3, std::int64_t{end.exit_code}).bind(4, end.wall_seconds).bind(5, std::string_view(end.torch));
  update->bind(6, std::string_view(end.cuda)).bind(7, std::string_view(end.python));
  update->bind_blob(8, pack(end.result)).bind(9, number);
  return update->run();
}

Result<void> insert_devices(Connection& connection, std::int64_t number,
                            const std::vector<model::CardFigures>& devices) {
  return insert_each(connection, "INSERT INTO devices VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)", devices,
                     [&](Statement& row, std::int64_t position, const model::CardFigures& device) {
                       row.bind(1, number).bind(2, position).bind(3, std::int64_t{device.index});
                       row.bind(4, std::string_view(device.name)).bind(5, number_of(device.total));
                       row.bind(6, number_of(device.context)).bind(7, number_of(device.libraries));
                       row.bind(8, number_of(device.allocated)).bind(9, number_of(device.reserved));
                       row.bind(10, number_of(device.device)).bind(11, device.retries);
                     });
}

Result<void> insert_phases(Connection& connection, std::int64_t number, const std::vector<model::PhaseResult>& phases) {
  return insert_each(connection, "INSERT INTO phases VALUES (?1,?2,?3,?4,?5,?6,?7,?8)", phases,
                     [&](Statement& row, std::int64_t position, const model::PhaseResult& phase) {
                       row.bind(1, number).bind(2, position).bind(3, std::string_view(phase.name));
                       row.bind(4, std::int64_t{phase.device}).bind(5, phase.peaks.allocated.count());
                       row.bind(6, phase.peaks.reserved.count()).bind(7, phase.peaks.device.count());
                       row.bind(8, phase.steps);
                     });
}

Result<void> insert_findings(Connection& connection, std::int64_t number,
                             const std::vector<model::StoredFinding>& findings) {
  return insert_each(connection, "INSERT INTO findings VALUES (?1,?2,?3,?4,?5)", findings,
                     [&](Statement& row, std::int64_t position, const model::StoredFinding& finding) {
                       row.bind(1, number).bind(2, position).bind(3, std::string_view(finding.code));
                       row.bind(4, std::string_view(finding.label)).bind(5, std::string_view(finding.text));
                     });
}

Result<void> insert_tag(Connection& connection, std::int64_t number, const std::string& tag) {
  auto insert = connection.prepare("INSERT OR IGNORE INTO tags VALUES (?1, ?2)");
  if (!insert) return std::unexpected(insert.error());
  return insert->bind(1, number).bind(2, std::string_view(tag)).run();
}

Result<std::vector<model::CardFigures>> select_devices(Connection& connection, std::int64_t number) {
  return select_each<model::CardFigures>(
      connection,
      "SELECT card_index, name, total, context, libraries, allocated, reserved, device, retries FROM devices "
      "WHERE run = ?1 ORDER BY position",
      number, [](const Statement& row) {
        const auto bytes = [&](int column) {
          return row.is_null(column) ? std::nullopt : std::optional(Bytes(row.integer(column)));
        };
        model::CardFigures device;
        device.index = static_cast<int>(row.integer(0));
        device.name = row.text(1);
        device.total = bytes(2);
        device.context = bytes(3);
        device.libraries = bytes(4);
        device.allocated = bytes(5);
        device.reserved = bytes(6);
        device.device = bytes(7);
        device.retries = row.integer(8);
        return device;
      });
}

Result<std::vector<model::PhaseResult>> select_phases(Connection& connection, std::int64_t number) {
  return select_each<model::PhaseResult>(
      connection,
      "SELECT name, card_index, allocated, reserved, device, steps FROM phases WHERE run = ?1 ORDER BY position",
      number, [](const Statement& row) {
        return model::PhaseResult{.name = row.text(0),
                                  .device = static_cast<int>(row.integer(1)),
                                  .peaks = {Bytes(row.integer(2)), Bytes(row.integer(3)), Bytes(row.integer(4))},
                                  .steps = row.integer(5)};
      });
}

Result<std::vector<model::StoredFinding>> select_findings(Connection& connection, std::int64_t number) {
  return select_each<model::StoredFinding>(connection,
                                           "SELECT code, label, text FROM findings WHERE run = ?1 ORDER BY position",
                                           number, [](const Statement& row) {
                                             return model::StoredFinding{row.text(0), row.text(1), row.text(2)};
                                           });
}

Result<std::vector<std::string>> select_tags(Connection& connection, std::int64_t number) {
  return select_each<std::string>(connection, "SELECT tag FROM tags WHERE run = ?1 ORDER BY tag", number,
                                  [](const Statement& row) { return row.text(0); });
}

// The length stands in front (8 bytes, this machine's order is little-endian everywhere PyTorch's CUDA builds run).
std::string pack(std::string_view text) {
  if (text.empty()) return {};
  const std::uint64_t length = text.size();
  uLongf room = compressBound(text.size());
  std::string packed(sizeof length + room, '\0');
  std::memcpy(packed.data(), &length, sizeof length);
  compress2(reinterpret_cast<Bytef*>(packed.data() + sizeof length), &room, reinterpret_cast<const Bytef*>(text.data()),
            text.size(), Z_BEST_SPEED);
  packed.resize(sizeof length + room);
  return packed;
}

Result<std::string> unpack(std::string_view packed) {
  if (packed.empty()) return std::string();
  const auto broken = [] { return fail(ErrorCode::kCorrupt, "a stored result can't be unpacked", "run history"); };
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;  // a length beyond it is damage, not a result
  std::uint64_t length = 0;
  if (packed.size() < sizeof length) return broken();
  std::memcpy(&length, packed.data(), sizeof length);
  if (length > kMostBytes) return broken();
  std::string text(length, '\0');
  uLongf got = length;
  const int code =
      uncompress(reinterpret_cast<Bytef*>(text.data()), &got,
                 reinterpret_cast<const Bytef*>(packed.data() + sizeof length), packed.size() - sizeof length);
  if (code != Z_OK || got != length) return broken();
  return text;
}

}  // namespace vramfit::store
