#include "ingest/stored_patch.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingest/stored_fields.h"

namespace vramfit::ingest {
namespace {

// Where the diff of the next file begins. Lines of a file that look like a head come without a second one behind them.
std::size_t find_next_file(std::string_view diff) {
  constexpr std::string_view kOld = "\n--- a/", kNew = "\n+++ b/";
  for (std::size_t at = diff.find(kOld); at != std::string_view::npos; at = diff.find(kOld, at + 1)) {
    const std::size_t end = diff.find('\n', at + 1);
    if (end != std::string_view::npos && diff.substr(end).starts_with(kNew)) return at + 1;
  }
  return diff.size();
}

std::vector<model::PatchedFile> split_files(std::string_view diff) {
  std::vector<model::PatchedFile> files;
  while (!diff.empty()) {
    const std::size_t end = find_next_file(diff);
    model::PatchedFile file;
    file.diff = diff.substr(0, end);
    files.push_back(std::move(file));
    diff.remove_prefix(end);
  }
  return files;
}

}  // namespace

std::optional<model::Patch> read_stored_patch(const nlohmann::json& plan) {
  const auto source = plan.find("source");
  if (source == plan.end() || source->is_null()) return std::nullopt;
  model::Patch patch;
  patch.root = text(*source, "root");
  patch.files = split_files(text(*source, "diff"));
  patch.done = source->at("done").get<std::vector<std::string>>();
  for (const nlohmann::json& left : source->at("left")) {
    patch.left.push_back({text(left, "id"), text(left, "reason")});
  }
  return patch;
}

}  // namespace vramfit::ingest
