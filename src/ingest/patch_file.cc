#include "ingest/patch_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"

namespace vramfit::ingest {
namespace {

using nlohmann::json;

std::string text_in(const json& object, const char* name) { return object.at(name).get<std::string>(); }

model::Patch build_patch(const json& root) {
  model::Patch patch;
  patch.root = text_in(root, "root");
  for (const json& file : root.at("files")) {
    patch.files.push_back(
        {text_in(file, "path"), text_in(file, "before"), text_in(file, "after"), text_in(file, "diff")});
  }
  for (const json& done : root.at("done")) patch.done.push_back(text_in(done, "id"));
  for (const json& left : root.at("left")) patch.left.push_back({text_in(left, "id"), text_in(left, "text")});
  return patch;
}

std::vector<std::filesystem::path> answers_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> answers;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("patch.") && name.ends_with(".json")) answers.push_back(entry.path());
  }
  std::ranges::sort(answers);
  return answers;
}

}  // namespace

base::Result<model::Patch> parse_patch(std::string_view text, std::string_view name) {
  try {
    return build_patch(json::parse(text));
  } catch (const json::exception& broken) {
    return base::fail(base::ErrorCode::kCorrupt, "the job left a patch that can't be read", std::string(name),
                      broken.what());
  }
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
