#include "app/patch.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/file.h"
#include "ingest/plan_file.h"
#include "plan/plan_check.h"

namespace vramfit::app {
namespace {

namespace fs = std::filesystem;
using base::Result;

std::string why_there_is_none(const model::RunResult& result) {
  if (result.error) return fmt::format("{}: {}", result.error->type, result.error->message);
  if (result.oom) return "it runs out of memory with the plan too";
  return result.reason.empty() ? "its Python did not come to its end" : result.reason;
}

// A name that is free beside the file: train.py.orig, train.py.orig2.
fs::path backup_of(const fs::path& file) {
  for (int number = 1;; ++number) {
    fs::path backup = file.string() + ".orig" + (number == 1 ? "" : std::to_string(number));
    std::error_code ignored;
    if (!fs::exists(fs::symlink_status(backup, ignored))) return backup;
  }
}

Result<void> check_unchanged(const model::PatchedFile& file) {
  const auto now = base::read_file(file.path);
  if (!now) return std::unexpected(now.error());
  if (*now == file.before) return {};
  return base::fail(base::ErrorCode::kUsage, "the file has changed since the run that the patch comes from", file.path,
                    "run vramfit patch again");
}

// The file itself where the name is a link, with the rights it had.
Result<std::string> replace_file(const model::PatchedFile& file) {
  std::error_code failed;
  const fs::path target = fs::canonical(file.path, failed);
  if (failed) return base::fail(base::ErrorCode::kSystem, failed.message(), file.path);
  const fs::perms rights = fs::status(target, failed).permissions();
  const fs::path backup = backup_of(target);
  if (auto kept = base::write_file(backup, file.before); !kept) return std::unexpected(kept.error());
  fs::permissions(backup, rights, failed);
  if (auto written = base::write_file(target, file.after); !written) return std::unexpected(written.error());
  fs::permissions(target, rights, failed);
  return backup.string();
}

}  // namespace

Result<PatchAnswer> make_patch(const job::RunRequest& request, job::Runner& runner, base::ProgressSink& progress) {
  const fs::path file = request.plan.value_or("");
  const auto plan = ingest::read_plan(file);
  if (!plan) return std::unexpected(plan.error());
  if (auto checked = plan::check_plan(*plan, file.string()); !checked) return std::unexpected(checked.error());
  job::RunRequest asked = request;
  asked.patch = true;
  asked.quiet_child = true;
  asked.span = {};
  const auto outcome = runner.run(asked, progress);
  if (!outcome) return std::unexpected(outcome.error());
  if (outcome->result.interrupted) return base::fail(base::ErrorCode::kInterrupted, "interrupted");
  if (!outcome->result.plan_refused.empty()) return PatchAnswer{{}, outcome->result.plan_refused};
  const bool has_run = outcome->result.exit_code == 0 && !outcome->result.error && !outcome->result.oom;
  if (!has_run || !outcome->patch) {
    return base::fail(base::ErrorCode::kUnsupported, "the job with the plan told no places to patch",
                      why_there_is_none(outcome->result), "vramfit run --plan shows what becomes of it");
  }
  return PatchAnswer{*outcome->patch, {}};
}

Result<std::vector<std::string>> write_patched(const model::Patch& patch) {
  for (const model::PatchedFile& file : patch.files) {
    if (auto same = check_unchanged(file); !same) return std::unexpected(same.error());
  }
  std::vector<std::string> backups;
  for (const model::PatchedFile& file : patch.files) {
    auto backup = replace_file(file);
    if (!backup) return std::unexpected(backup.error());
    backups.push_back(std::move(*backup));
  }
  return backups;
}

}  // namespace vramfit::app
