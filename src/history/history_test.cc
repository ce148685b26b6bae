// Runs through the whole of the history: exported, imported, compared.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "history/compare.h"
#include "history/job_identity.h"
#include "history/run_book.h"
#include "ingest/history_file.h"
#include "report/history_json.h"
#include "report/history_text.h"
#include "store/place.h"

namespace vramfit::history {
namespace {

using base::Bytes;
namespace fs = std::filesystem;

model::StoredRun some_run(std::int64_t number, std::int64_t peak_mib) {
  model::StoredRun run;
  run.number = number;
  run.uuid = "uuid-" + std::to_string(number);
  run.state = model::RunState::kEnded;
  run.started_ms = 1'700'000'000'000;
  run.ended_ms = run.started_ms + 1500;
  run.start = {.verb = "run", .command = {"python", "train.py", "--batch-size", "8"}, .card = "rtx3060"};
  run.end.verdict = "fits";
  run.end.wall_seconds = 1.5;
  run.end.result = "{\"a\": 1}\n";
  model::CardFigures device;
  device.name = "NVIDIA GeForce RTX 3060";
  device.total = Bytes::gib(12);
  const Bytes peak = Bytes::mib(peak_mib);
  device.allocated = device.reserved = device.device = peak;
  run.end.devices = {device};
  run.end.phases = {{.name = "train", .peaks = {peak, peak, peak}, .steps = 3}};
  run.end.findings = {{"VF101", "capacity_exceeded", "too much"}};
  run.tags = {"a", "b"};
  run.note = "a note";
  return run;
}

TEST(History, what_is_exported_is_read_back_whole) {
  const std::vector<model::StoredRun> runs = {some_run(1, 100), some_run(2, 200)};
  const auto back = ingest::parse_history(report::history_to_json(runs, "1.0"), "file");
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(*back, runs);
}

TEST(History, a_damaged_export_says_which_run_and_field) {
  std::string text = report::history_to_json({some_run(1, 100), some_run(2, 100)}, "1.0");
  text.replace(text.rfind("\"exit_code\""), 11, "\"exit_kode\"");
  const auto back = ingest::parse_history(text, "file");
  ASSERT_FALSE(back);
  EXPECT_NE(back.error().what.find("run 2"), std::string::npos) << back.error().what;
  EXPECT_NE(back.error().what.find("exit_code"), std::string::npos) << back.error().what;
  EXPECT_FALSE(ingest::parse_history("[1, 2", "file"));
  EXPECT_FALSE(ingest::parse_history("", "file"));
}

TEST(Compare, names_what_differs_and_nothing_else) {
  model::StoredRun other = some_run(2, 300);
  other.start.command.back() = "16";
  const model::Comparison comparison = compare({some_run(1, 100), other});
  ASSERT_EQ(comparison.differences.size(), 1U);
  EXPECT_EQ(comparison.differences[0].what, "command");
  const std::string text = report::comparison_to_text(comparison);
  EXPECT_NE(text.find("+200 MiB (+200 %)"), std::string::npos) << text;
  EXPECT_EQ(text.find("torch"), std::string::npos) << text;
}

TEST(Compare, an_edited_script_is_told_by_hashes_of_one_kind_only) {
  model::StoredRun older = some_run(1, 100), edited = some_run(2, 100);
  older.start.script = edited.start.script = "/w/train.py";
  older.start.script_hash = hash_contents("a");
  edited.start.script_hash = hash_contents("b");
  const model::Comparison told = compare({older, edited});
  ASSERT_EQ(told.differences.size(), 1U);
  EXPECT_EQ(told.differences[0].what, "script");
  older.start.script_hash = "ce013625030ba8dba906f756967f9e9ca394464a";  // as versions before kept it
  EXPECT_TRUE(compare({older, edited}).differences.empty());
}

TEST(Compare, a_phase_that_one_run_lacks_is_not_zero) {
  model::StoredRun other = some_run(2, 300);
  other.end.phases.push_back({.name = "validate", .peaks = {Bytes(1), Bytes(1), Bytes::mib(7)}, .steps = 3});
  const model::Comparison comparison = compare({some_run(1, 100), other});
  ASSERT_EQ(comparison.phases.size(), 2U);
  EXPECT_FALSE(comparison.phases[1].peaks[0]);
  EXPECT_EQ(comparison.phases[1].peaks[1], Bytes::mib(7));
}

TEST(RunBook, a_fit_is_noted_with_the_code_that_it_ends_with) {
  EXPECT_EQ(summarize(model::FitResult{.verdict = model::FitVerdict::kNothingFits}, "{}").exit_code, 1);
  EXPECT_EQ(summarize(model::FitResult{.verdict = model::FitVerdict::kFitsAlready}, "{}").exit_code, 0);
}

class JobIdentityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("vramfit-identity-" + std::to_string(::getpid()));
    fs::create_directories(folder_ / "pkg");
    for (const char* name : {"train.py", "pkg/__main__.py"}) std::ofstream(folder_ / name) << "print(1)\n";
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(JobIdentityTest, finds_the_script_behind_launchers_and_modules) {
  EXPECT_EQ(find_script({"torchrun", "--nproc_per_node", "2", "train.py", "--x"}, folder_), folder_ / "train.py");
  EXPECT_EQ(find_script({"python", "-m", "pkg"}, folder_), folder_ / "pkg" / "__main__.py");
  EXPECT_TRUE(find_script({"python", "-c", "print(1)"}, folder_).empty());
}

TEST(JobIdentity, hashes_as_pythons_uuid5_does) {
  EXPECT_EQ(hash_contents("hello\n"), "4dbeb263-a256-5d64-a566-5aed9d22e427");
  EXPECT_EQ(hash_contents(""), "0a68eb57-c88a-5f34-9e9d-27f85e68af4f");
}

TEST_F(JobIdentityTest, git_tells_commit_branch_and_changes) {
  const std::string in = "cd '" + folder_.string() + "' && ";
  const std::string as = "git -c user.name=a -c user.email=a@b -c init.defaultBranch=trunk ";
  ASSERT_EQ(std::system((in + as + "init -q && " + as + "add train.py && " + as + "commit -qm one").c_str()), 0);
  const model::GitState clean = read_git(folder_);
  EXPECT_EQ(clean.commit.size(), 40U);
  EXPECT_EQ(clean.branch, "trunk");
  EXPECT_FALSE(clean.has_changes);
  std::ofstream(folder_ / "train.py") << "print(2)\n";
  EXPECT_TRUE(read_git(folder_).has_changes);
}

TEST_F(JobIdentityTest, a_folder_without_git_has_no_version) { EXPECT_EQ(read_git(folder_), model::GitState{}); }

TEST(RunBook, the_history_lies_where_the_environment_says) {
  EXPECT_EQ(store::find_store({{"VRAMFIT_STORE", "/x/runs.db"}, {"HOME", "/h"}}), "/x/runs.db");
  EXPECT_EQ(store::find_store({{"XDG_DATA_HOME", "/d"}, {"HOME", "/h"}}), "/d/vramfit/runs.db");
  EXPECT_EQ(store::find_store({{"XDG_DATA_HOME", "relative"}, {"HOME", "/h"}}), "/h/.local/share/vramfit/runs.db");
  EXPECT_FALSE(store::find_store({{"VRAMFIT_STORE", "none"}, {"HOME", "/h"}}));
  EXPECT_FALSE(store::find_store({}));
}

}  // namespace
}  // namespace vramfit::history
