// SQLite as this project speaks it: a connection and statements that close themselves, errors as Result.
#ifndef VRAMFIT_STORE_SQLITE_H
#define VRAMFIT_STORE_SQLITE_H

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace vramfit::store {

class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  // Parameters are numbered from 1, columns from 0, as SQLite has it.
  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, double value);
  Statement& bind(int parameter, std::string_view value);
  Statement& bind_blob(int parameter, std::string_view bytes);
  Statement& bind(int parameter, std::optional<std::int64_t> value);

  // True while there is a row.
  base::Result<bool> step();
  // Runs statements that return nothing.
  base::Result<void> run();
  void reset();

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;  // bytes too

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Connection {
 public:
  // Waits up to `busy_ms` for another writer.
  static base::Result<Connection> open(const std::filesystem::path& path, int busy_ms);
  // A file that is there, and that nothing is written to: not what its log holds either, when this closes.
  static base::Result<Connection> open_to_read(const std::filesystem::path& path, int busy_ms);

  base::Result<Statement> prepare(std::string_view sql);
  // Several statements without parameters.
  base::Result<void> execute(const std::string& sql);
  std::int64_t last_row() const;
  std::int64_t changes() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Connection(sqlite3* database) : database_(database) {}
  static base::Result<Connection> open(const std::string& name, int flags, int busy_ms);
  std::unique_ptr<sqlite3, Close> database_;
};

// Rolls back unless commit() was called. Takes the write lock at once, so that two writers wait instead of failing.
class Transaction {
 public:
  static base::Result<Transaction> begin(Connection& connection);
  Transaction(Transaction&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  base::Result<void> commit();

 private:
  explicit Transaction(Connection& connection) : connection_(&connection) {}
  Connection* connection_;
};

}  // namespace vramfit::store

#endif
