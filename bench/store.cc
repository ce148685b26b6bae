// How fast runs are noted in the history, beside plain rows put into SQLite in the same run and folder: each note is
// two transactions, one when the run begins and one with its result when it ends; each plain row is one.
//
//   bench_store [NOTES] [FOLDER]
#include "store/store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

namespace {

namespace fs = std::filesystem;
using namespace vramfit;

constexpr std::size_t kResultBytes = 20'000;  // a result as --json writes it, of a job with some dozens of layers

double seconds_of(const std::function<void()>& act) {
  const auto begin = std::chrono::steady_clock::now();
  act();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

[[noreturn]] void refuse(const std::string& why) {
  fmt::print(stderr, "bench_store: {}\n", why);
  std::exit(2);
}

std::string some_result() {
  std::string text = "{\"owners\": [";
  for (int row = 0; text.size() < kResultBytes; ++row) {
    text += fmt::format("{{\"owner\": \"activations\", \"line\": \"model.py:{}\", \"bytes\": {}}},", row, row * 4096);
  }
  return text + "{}]}";
}

void note_runs(store::Store& store, int count, const std::string& result) {
  model::RunStart start;
  start.verb = "run";
  start.command = {"python", "train.py"};
  model::RunEnd end;
  end.verdict = "fits";
  end.result = result;
  end.devices.resize(1);
  end.phases.resize(3);
  for (int i = 0; i < count; ++i) {
    const auto number = store.begin(start, i);
    if (!number) refuse(base::to_string(number.error()));
    if (const auto done = store.finish(*number, end, i + 1); !done) refuse(base::to_string(done.error()));
  }
}

// Its own SQL and nothing else: what the disk and SQLite take.
void insert_rows(sqlite3* database, int count, const std::string& result) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(database, "INSERT INTO plain (verb, result) VALUES ('run', ?)", -1, &statement, nullptr);
  for (int i = 0; i < count; ++i) {
    sqlite3_bind_text(statement, 1, result.data(), static_cast<int>(result.size()), SQLITE_STATIC);
    if (sqlite3_step(statement) != SQLITE_DONE) refuse(sqlite3_errmsg(database));
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 500;
  const fs::path folder = (argc > 2 ? fs::path(argv[2]) : fs::temp_directory_path()) / "vramfit-bench-store";
  if (count <= 0) refuse("the number of notes is 1 or more");
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string result = some_result();
  auto store = store::Store::open(folder / "runs.db");
  if (!store) refuse(base::to_string(store.error()));
  const double noted = seconds_of([&] { note_runs(*store, count, result); });
  sqlite3* database = nullptr;
  if (sqlite3_open((folder / "plain.db").c_str(), &database) != SQLITE_OK) refuse("SQLite does not open a file");
  sqlite3_exec(database, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; CREATE TABLE plain (verb, result)",
               nullptr, nullptr, nullptr);
  const double plain = seconds_of([&] { insert_rows(database, count, result); });
  sqlite3_close(database);
  fmt::print("notes of runs (begin and end)   {:>9.0f} a second   {:>8} bytes a note in the file\n", count / noted,
             fs::file_size(folder / "runs.db") / static_cast<std::uintmax_t>(count));
  fmt::print("plain rows in SQLite            {:>9.0f} a second   {:>8} bytes a row\n", count / plain,
             fs::file_size(folder / "plain.db") / static_cast<std::uintmax_t>(count));
  fs::remove_all(folder);
  return 0;
}
