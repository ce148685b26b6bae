#include "store/migrations.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "store/store.h"

namespace vramfit::store {
namespace {

class MigrationsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / ("vramfit-migrations-" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path file() const { return folder_ / "runs.db"; }
  Connection connect() { return std::move(*Connection::open(file(), 1000)); }

  std::filesystem::path folder_;
};

std::int64_t ask(Connection& connection, std::string_view question) {
  auto statement = connection.prepare(question);
  EXPECT_TRUE(statement) << question;
  EXPECT_TRUE(*statement->step()) << question;
  return statement->integer(0);
}

TEST_F(MigrationsTest, AnEmptyFileIsBroughtToTheNewestFormat) {
  Connection connection = connect();
  ASSERT_TRUE(migrate(connection));
  EXPECT_EQ(ask(connection, "PRAGMA user_version"), newest_schema());
  EXPECT_EQ(ask(connection, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'findings'"), 1);
}

TEST_F(MigrationsTest, AFileOfTheFirstFormatKeepsItsRuns) {
  {
    Connection connection = connect();
    ASSERT_TRUE(migrate(connection, 1));
    ASSERT_TRUE(connection.execute(
        "INSERT INTO runs (uuid, state, started_ms, verb, command, folder, script, script_hash, git_commit, git_branch,"
        " git_changes, host, version, card, plan, verdict) VALUES ('old-one', 'ended', 5, 'run', '[\"python\"]', '/', "
        "'', '', '', '', 0, 'h', '0.0', 'RTX 3060', '', 'fits')"));
  }
  auto store = Store::open(file());
  ASSERT_TRUE(store) << to_string(store.error());
  const auto run = store->find(1);
  ASSERT_TRUE(run) << to_string(run.error());
  EXPECT_EQ(run->uuid, "old-one");
  EXPECT_EQ(run->end.verdict, "fits");
  EXPECT_FALSE(run->start.parent);
  EXPECT_TRUE(store->add_tag(1, "kept"));
}

TEST_F(MigrationsTest, WhatNothingMeasuredIsNoZeroAnyMore) {
  {
    Connection connection = connect();
    ASSERT_TRUE(migrate(connection, 2));
    for (const char* verb : {"run", "run", "watch"}) {
      ASSERT_TRUE(connection.execute(fmt::format(
          "INSERT INTO runs (uuid, state, started_ms, verb, command, folder, script, script_hash, git_commit,"
          " git_branch, git_changes, host, version, card, plan, verdict) VALUES (hex(randomblob(8)), 'ended', 5, '{}',"
          " '[\"python\"]', '/', '', '', '', '', 0, 'h', '0.0', 'RTX 3060', '', 'fits')",
          verb)));
    }
    // Ended before it came to a card; used the first of two; watched.
    ASSERT_TRUE(connection.execute(
        "INSERT INTO devices VALUES (1, 0, 0, 'a', 100, 0, 0, 0, 0, 0, 0), (2, 0, 0, 'a', 100, 5, 0, 30, 40, 45, 1), "
        "(2, 1, 1, 'b', 100, 0, 0, 0, 0, 0, 0), (3, 0, 0, 'a', 0, 0, 0, 0, 0, 70, 0)"));
  }
  auto store = Store::open(file());
  ASSERT_TRUE(store) << to_string(store.error());
  const auto cards = [&](std::int64_t number) { return store->find(number)->end.devices; };
  using base::Bytes;
  EXPECT_EQ(cards(1), (std::vector<model::CardFigures>{{.name = "a", .index = 0, .total = Bytes(100)}}));
  EXPECT_EQ(cards(2).at(0).libraries, Bytes(0)) << "measured, and nothing";
  EXPECT_EQ(cards(2).at(0).device, Bytes(45));
  EXPECT_EQ(cards(2).at(1).device, Bytes(0));
  EXPECT_EQ(cards(3), (std::vector<model::CardFigures>{{.name = "a", .index = 0, .device = Bytes(70)}}));
}

TEST_F(MigrationsTest, AFileFromANewerVramfitIsRefusedAndLeftAlone) {
  {
    Connection connection = connect();
    ASSERT_TRUE(migrate(connection));
    ASSERT_TRUE(connection.execute("PRAGMA user_version = 999"));
  }
  const auto store = Store::open(file());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, base::ErrorCode::kUnsupported);
  EXPECT_EQ(store.error().where, file().string());
  Connection connection = connect();
  EXPECT_EQ(ask(connection, "PRAGMA user_version"), 999);
}

TEST_F(MigrationsTest, AStepThatWasCutOffIsTakenAgain) {
  Connection connection = connect();
  ASSERT_TRUE(migrate(connection, 1));
  {
    auto transaction = Transaction::begin(connection);  // as a process that dies within step 2
    ASSERT_TRUE(transaction);
    ASSERT_TRUE(connection.execute("CREATE TABLE tags (run INTEGER)"));
  }
  ASSERT_TRUE(migrate(connection));
  EXPECT_EQ(ask(connection, "PRAGMA user_version"), newest_schema());
}

}  // namespace
}  // namespace vramfit::store
