#include "store/sqlite.h"

#include <sqlite3.h>

#include <utility>

namespace vramfit::store {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

std::unexpected<base::Error> fail_sqlite(sqlite3* database, std::string what) {
  const int code = sqlite3_errcode(database) & 0xff;
  const char* file = sqlite3_db_filename(database, "main");
  const std::string where = file != nullptr ? file : "";
  what += std::string(": ") + sqlite3_errmsg(database);
  switch (code) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
      return fail(ErrorCode::kSystem, what, where,
                  "make room on that disk, or name another file with VRAMFIT_STORE; what was stored before is whole");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fail(ErrorCode::kSystem, what, where, "another vramfit is writing; try again");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return fail(ErrorCode::kCorrupt, what, where,
                  "move the file away: a new one is begun; `sqlite3 FILE .recover` may save what is in it");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return fail(ErrorCode::kSystem, what, where, "name a file that can be written with VRAMFIT_STORE");
    default:
      return fail(ErrorCode::kSystem, what, where);
  }
}

// A path within a URI of SQLite.
std::string escaped(std::string_view path) {
  std::string text;
  for (const char each : path) {
    if (each == '%' || each == '?' || each == '#') {
      text += each == '%' ? "%25" : each == '?' ? "%3f" : "%23";
    } else {
      text += each;
    }
  }
  return text;
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

// A failed bind (out of memory, a wrong number) shows as an error of the step after it.
Statement& Statement::bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter, value);
  return *this;
}

Statement& Statement::bind(int parameter, double value) {
  sqlite3_bind_double(statement_.get(), parameter, value);
  return *this;
}

Statement& Statement::bind(int parameter, std::string_view value) {
  sqlite3_bind_text(statement_.get(), parameter, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::bind_blob(int parameter, std::string_view bytes) {
  sqlite3_bind_blob64(statement_.get(), parameter, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::bind(int parameter, std::optional<std::int64_t> value) {
  if (value) return bind(parameter, *value);
  sqlite3_bind_null(statement_.get(), parameter);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return fail_sqlite(sqlite3_db_handle(statement_.get()), "the run history failed");
}

Result<void> Statement::run() {
  const auto stepped = step();
  if (!stepped) return std::unexpected(stepped.error());
  return {};
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }
std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr ? std::string()
                          : std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

void Connection::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Result<Connection> Connection::open(const std::filesystem::path& path, int busy_ms) {
  return open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, busy_ms);
}

Result<Connection> Connection::open_to_read(const std::filesystem::path& path, int busy_ms) {
  std::error_code none;
  const auto logged = std::filesystem::file_size(path.string() + "-wal", none);
  if (!none && logged > 0) return open(path, SQLITE_OPEN_READONLY, busy_ms);
  // Without "immutable" SQLite makes an empty log beside a file in WAL mode, and leaves it there.
  return open("file:" + escaped(path.string()) + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, busy_ms);
}

Result<Connection> Connection::open(const std::string& name, int flags, int busy_ms) {
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &database, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Connection connection(database);
  if (code != SQLITE_OK) return fail_sqlite(database, "cannot open the run history");
  sqlite3_busy_timeout(database, busy_ms);
  sqlite3_extended_result_codes(database, 1);
  return connection;
}

Result<Statement> Connection::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK) {
    return fail_sqlite(database_.get(), "the run history failed");
  }
  return Statement(statement);
}

Result<void> Connection::execute(const std::string& sql) {
  if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return fail_sqlite(database_.get(), "the run history failed");
}

std::int64_t Connection::last_row() const { return sqlite3_last_insert_rowid(database_.get()); }
std::int64_t Connection::changes() const { return sqlite3_changes64(database_.get()); }

Result<Transaction> Transaction::begin(Connection& connection) {
  if (auto begun = connection.execute("BEGIN IMMEDIATE"); !begun) return std::unexpected(begun.error());
  return Transaction(connection);
}

Transaction::~Transaction() {
  // Fails when SQLite has rolled back by itself already (a full disk): nothing is left to do then.
  if (connection_ != nullptr) static_cast<void>(connection_->execute("ROLLBACK"));
}

Result<void> Transaction::commit() {
  if (auto done = connection_->execute("COMMIT"); !done) return done;
  connection_ = nullptr;
  return {};
}

}  // namespace vramfit::store
