#include "ingest/patch_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/file.h"
#include "ingest/told_json.h"

namespace vramfit::ingest {
namespace {

namespace told = model::told;

std::vector<std::filesystem::path> answers_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> answers;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(told::kPatchFileBegin) && name.ends_with(told::kPatchFileEnd)) answers.push_back(entry.path());
  }
  std::ranges::sort(answers);
  return answers;
}

}  // namespace

base::Result<model::Patch> parse_patch(std::string_view text, std::string_view name) {
  model::Patch patch;
  UnreadFields unread;  // a patch is whole or none: it is written over the user's files
  if (read(json::parse(text, nullptr, /*allow_exceptions=*/false), patch, unread) && unread.count == 0) return patch;
  return base::fail(base::ErrorCode::kCorrupt, "the job left a patch that can't be read", std::string(name),
                    fmt::format("{}", fmt::join(unread.names, ", ")));
}

base::Result<std::optional<model::Patch>> read_patch(const std::filesystem::path& run_folder) {
  std::optional<model::Patch> most;
  for (const std::filesystem::path& path : answers_in(run_folder)) {
    const auto text = base::read_file(path);
    if (!text) return std::unexpected(text.error());
    auto patch = parse_patch(*text, path.string());
    if (!patch) return std::unexpected(patch.error());
    if (!most || patch->done.size() > most->done.size()) most = std::move(*patch);
  }
  return most;
}

}  // namespace vramfit::ingest
