#include "store/store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <set>
#include <thread>

#include "base/file.h"
#include "store/process.h"
#include "store/sqlite.h"

namespace vramfit::store {
namespace {

using base::Bytes;
using model::RunState;

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / ("vramfit-store-" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path file() const { return folder_ / "deep" / "runs.db"; }
  Store open() {
    auto store = Store::open(file());
    EXPECT_TRUE(store) << to_string(store.error());
    return std::move(*store);
  }

  std::filesystem::path folder_;
};

model::RunStart some_start() {
  return {.verb = "run",
          .command = {"python", "train.py", "--name", "a \"b\" \n c"},
          .folder = "/home/me/project",
          .script = "/home/me/project/train.py",
          .script_hash = "0123",
          .git = {"deadbeef", "main", true},
          .host = current_process().host,
          .version = "1.2.3",
          .card = "RTX 3060",
          .plan = R"({"version": 1})"};
}

model::RunEnd some_end() {
  model::RunEnd end;
  end.verdict = "out_of_memory";
  end.reason = "why";
  end.exit_code = 1;
  end.wall_seconds = 2.5;
  end.torch = "2.12.1+cu130";
  end.cuda = "13.0";
  end.python = "3.11.7";
  model::CardFigures device, unused;
  device.name = "NVIDIA GeForce RTX 3060";
  device.total = Bytes::gib(12);
  device.allocated = Bytes::gib(9), device.reserved = Bytes::gib(10), device.device = Bytes::gib(11);
  device.context = Bytes(), device.libraries = Bytes();  // measured, and nothing
  unused.name = "a card that nothing was seen of";
  device.retries = 3;
  end.devices = {device, unused};
  end.phases = {{.name = "train", .peaks = {Bytes(1), Bytes(2), Bytes(3)}, .steps = 4},
                {.name = "validate", .peaks = {Bytes(5), Bytes(6), Bytes(7)}, .steps = 8}};
  end.findings = {{"VF101", "capacity_exceeded", "it does not fit"}};
  end.result = std::string(100'000, 'x') + "é\n";
  return end;
}

TEST_F(StoreTest, ARunComesBackAsItWasPutIn) {
  Store store = open();
  const auto number = store.begin(some_start(), 1000);
  ASSERT_TRUE(number) << to_string(number.error());
  EXPECT_EQ(store.find(*number)->state, RunState::kRunning);
  ASSERT_TRUE(store.finish(*number, some_end(), 2000));
  Store again = open();
  const auto run = again.find(*number);
  ASSERT_TRUE(run) << to_string(run.error());
  EXPECT_EQ(run->state, RunState::kEnded);
  EXPECT_EQ(run->started_ms, 1000);
  EXPECT_EQ(run->ended_ms, 2000);
  EXPECT_EQ(run->start, some_start());
  EXPECT_EQ(run->end, some_end());
}

TEST_F(StoreTest, WhatIsNoFileIsRefusedAndLeftAlone) {
  const auto refused = Store::open("/dev/null");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("no file"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists("/dev/null-journal"));
}

TEST_F(StoreTest, AnUnknownNumberIsNotFound) {
  Store store = open();
  EXPECT_EQ(store.find(7).error().code, base::ErrorCode::kNotFound);
  EXPECT_EQ(store.finish(7, some_end(), 1).error().code, base::ErrorCode::kNotFound);
  EXPECT_EQ(store.set_note(7, "n").error().code, base::ErrorCode::kNotFound);
  EXPECT_EQ(store.add_tag(7, "t").error().code, base::ErrorCode::kNotFound);
}

TEST_F(StoreTest, ListsAreNewestFirstAndFiltered) {
  Store store = open();
  for (const char* verb : {"run", "fit", "run"}) {
    model::RunStart start = some_start();
    start.verb = verb;
    ASSERT_TRUE(store.begin(start, 1));
  }
  ASSERT_TRUE(store.add_tag(2, "paper"));
  ASSERT_TRUE(store.add_tag(2, "paper"));
  ASSERT_TRUE(store.add_tag(2, "a"));
  const auto numbers = [&](const model::RunFilter& filter) {
    std::vector<std::int64_t> found;
    const auto runs = store.list(filter);
    EXPECT_TRUE(runs);
    for (const model::StoredRun& run : *runs) found.push_back(run.number);
    return found;
  };
  EXPECT_EQ(numbers({}), (std::vector<std::int64_t>{3, 2, 1}));
  EXPECT_EQ(numbers({.verb = "run"}), (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(numbers({.tag = "paper"}), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(numbers({.most = 1}), (std::vector<std::int64_t>{3}));
  EXPECT_EQ(store.find(2)->tags, (std::vector<std::string>{"a", "paper"}));
  ASSERT_TRUE(store.remove_tag(2, "paper"));
  EXPECT_TRUE(numbers({.tag = "paper"}).empty());
}

TEST_F(StoreTest, ARunWhoseProcessWasKilledIsInterrupted) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Store store = open();
    static_cast<void>(store.begin(some_start(), 1));
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  Store store = open();
  EXPECT_EQ(store.find(1)->state, RunState::kInterrupted);
}

// Killed once it has stored something, after a time that grows by each round: whatever is in the file then is whole.
TEST_F(StoreTest, KillingAWriterAtAnyInstantLosesNothingThatWasStored) {
  open();
  std::size_t least = 0;
  for (int round = 0; round < 12; ++round) {
    std::array<int, 2> stored{};  // a byte for each run that is stored
    ASSERT_EQ(::pipe2(stored.data(), O_CLOEXEC | O_NONBLOCK), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Store store = open();
      while (true) {
        const auto number = store.begin(some_start(), 1);
        if (!number || !store.finish(*number, some_end(), 2)) continue;
        static_cast<void>(::write(stored[1], "", 1));
      }
    }
    ::close(stored[1]);
    pollfd first{.fd = stored[0], .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&first, 1, 60'000), 1);
    ::usleep(static_cast<useconds_t>(1700 * round));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    std::array<char, 4096> bytes{};
    const ssize_t told = ::read(stored[0], bytes.data(), bytes.size());
    ::close(stored[0]);
    ASSERT_GT(told, 0);
    Store store = open();
    const auto runs = store.list({});
    ASSERT_TRUE(runs) << to_string(runs.error());
    least += static_cast<std::size_t>(told);
    std::size_t ended = 0;
    for (const model::StoredRun& run : *runs) {
      ASSERT_NE(run.state, RunState::kRunning);
      if (run.state != RunState::kEnded) continue;
      ++ended;
      ASSERT_EQ(store.find(run.number)->end, some_end());
    }
    EXPECT_GE(ended, least);
  }
}

TEST_F(StoreTest, SeveralWritersWaitForEachOther) {
  open();
  constexpr int kEach = 25;
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([this] {
      Store store = open();
      for (int k = 0; k < kEach; ++k) {
        const auto number = store.begin(some_start(), 1);
        EXPECT_TRUE(number) << to_string(number.error());
        EXPECT_TRUE(store.finish(*number, some_end(), 2));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const auto runs = open().list({});
  std::set<std::string> uuids;
  for (const model::StoredRun& run : *runs) uuids.insert(run.uuid);
  EXPECT_EQ(uuids.size(), 4U * kEach);
}

// A full disk, by a limit on the size of the files that the child may write.
TEST_F(StoreTest, AFullDiskIsAnErrorAndWhatWasStoredStays) {
  {
    Store store = open();
    const auto number = store.begin(some_start(), 1);
    ASSERT_TRUE(store.finish(*number, some_end(), 2));
  }
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{200'000, 200'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    Store store = open();
    for (int i = 0; i < 1000; ++i) {
      const auto number = store.begin(some_start(), 1);
      if (!number) ::_exit(number.error().remedy.find("make room") != std::string::npos ? 42 : 1);
      if (const auto done = store.finish(*number, some_end(), 2); !done) {
        ::_exit(done.error().remedy.find("make room") != std::string::npos ? 42 : 1);
      }
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
  Store store = open();
  EXPECT_EQ(store.find(1)->end, some_end());
}

TEST_F(StoreTest, ADatabaseOfAnotherProgramIsRefusedAndNotTouched) {
  std::filesystem::create_directories(file().parent_path());
  {
    auto theirs = Connection::open(file(), 0);
    ASSERT_TRUE(theirs);
    ASSERT_TRUE(theirs->execute("CREATE TABLE bookmarks (url TEXT); CREATE TABLE runs (number INTEGER, km REAL)"));
  }
  const auto before = base::read_file(file());
  const auto store = Store::open(file());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().where, file().string());
  EXPECT_NE(store.error().remedy.find("VRAMFIT_STORE"), std::string::npos);
  EXPECT_EQ(base::read_file(file()), before);
  EXPECT_FALSE(std::filesystem::exists(file().string() + "-wal"));
}

TEST_F(StoreTest, WhateverAnotherProgramsDatabaseHasInItMakesItTheirs) {
  std::filesystem::create_directories(file().parent_path());
  for (const char* theirs : {"CREATE VIEW v AS SELECT 1 AS one", "PRAGMA application_id = 5", "PRAGMA user_version = 2",
                             "PRAGMA journal_mode = WAL; CREATE VIEW v AS SELECT 1 AS one",
                             "CREATE TABLE runs (number, uuid, script_hash, process_began); PRAGMA application_id = 5",
                             "CREATE TABLE runs (number, uuid, script_hash, process_began)"}) {
    std::filesystem::remove(file());
    ASSERT_TRUE(Connection::open(file(), 0)->execute(theirs));
    const auto before = base::read_file(file());
    ASSERT_FALSE(before->empty());
    const auto store = Store::open(file());
    ASSERT_FALSE(store) << theirs;
    EXPECT_EQ(store.error().code, base::ErrorCode::kUsage) << theirs;
    EXPECT_EQ(base::read_file(file()), before) << theirs;
    EXPECT_FALSE(std::filesystem::exists(file().string() + "-wal")) << theirs;
  }
}

TEST_F(StoreTest, AnotherProgramsDatabaseThatIsOpenKeepsItsLog) {
  std::filesystem::create_directories(file().parent_path());
  const auto from = folder_ / "from.db", log = std::filesystem::path(file().string() + "-wal");
  auto theirs = Connection::open(from, 0);
  ASSERT_TRUE(theirs->execute("PRAGMA journal_mode = WAL; CREATE VIEW v AS SELECT 1 AS one"));
  std::filesystem::copy_file(from, file());  // as a machine that lost its power leaves them
  std::filesystem::copy_file(from.string() + "-wal", log);
  const auto before = base::read_file(file()), logged = base::read_file(log);
  ASSERT_FALSE(Store::open(file()));
  EXPECT_EQ(base::read_file(file()), before);
  EXPECT_EQ(base::read_file(log), logged);
}

TEST_F(StoreTest, AFileWithoutBytesAndAStoreWithoutOurMarkAreOurs) {
  std::filesystem::create_directories(file().parent_path());
  ASSERT_TRUE(base::write_file(file(), ""));
  ASSERT_TRUE(Store::open(file()));
  ASSERT_TRUE(Connection::open(file(), 0)->execute("PRAGMA application_id = 0"));  // as stores were until now
  const auto store = Store::open(file());
  EXPECT_TRUE(store) << to_string(store.error());
}

TEST_F(StoreTest, AFileThatIsNoDatabaseIsToldAndNotTouched) {
  std::filesystem::create_directories(file().parent_path());
  ASSERT_TRUE(base::write_file(file(), std::string(5000, 'z')));
  const auto store = Store::open(file());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, base::ErrorCode::kCorrupt);
  EXPECT_EQ(base::read_file(file())->size(), 5000U);
}

TEST_F(StoreTest, AnImportedRunKeepsItsIdentityAndComesOnlyOnce) {
  Store store = open();
  const auto number = store.begin(some_start(), 1);
  ASSERT_TRUE(store.finish(*number, some_end(), 2));
  ASSERT_TRUE(store.set_note(*number, "a note"));
  ASSERT_TRUE(store.add_tag(*number, "t"));
  const model::StoredRun run = *store.find(*number);
  auto other = Store::open(folder_ / "other.db");
  ASSERT_TRUE(other);
  ASSERT_TRUE(other->begin(some_start(), 9));
  EXPECT_EQ(*other->import_run(run), 2);
  EXPECT_EQ(*other->import_run(run), 0);
  EXPECT_EQ(*other->number_of(run.uuid), 2);
  EXPECT_EQ(*other->number_of("nobody"), 0);
  model::StoredRun copy = *other->find(2);
  copy.number = run.number;
  EXPECT_EQ(copy, run);
}

TEST_F(StoreTest, PruningKeepsTheNewestAndWhatSomebodyMarked) {
  Store store = open();
  for (int i = 0; i < 6; ++i) {
    const auto number = store.begin(some_start(), 1);
    ASSERT_TRUE(store.finish(*number, some_end(), 2));
  }
  ASSERT_TRUE(store.set_note(1, "keep me"));
  ASSERT_TRUE(store.add_tag(2, "keep"));
  EXPECT_EQ(*store.prune(2), 2);
  EXPECT_FALSE(store.find(3));
  EXPECT_FALSE(store.find(4));
  for (const std::int64_t number : {1, 2, 5, 6}) EXPECT_TRUE(store.find(number)) << number;
  const auto next = store.begin(some_start(), 3);
  EXPECT_EQ(*next, 7);  // numbers are never given again
}

TEST_F(StoreTest, TheTrialsOfASweepGoWithIt) {
  Store store = open();
  const auto sweep = store.begin(some_start(), 1);
  model::RunStart trial = some_start();
  trial.parent = *sweep;
  ASSERT_TRUE(store.begin(trial, 1));
  EXPECT_EQ(store.list({.parent = *sweep})->size(), 1U);
  ASSERT_TRUE(store.remove(*sweep));
  EXPECT_TRUE(store.list({})->empty());
}

}  // namespace
}  // namespace vramfit::store
