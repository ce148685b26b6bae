#include "report/exports/speedscope_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace vramfit::report::exports {

using Json = nlohmann::ordered_json;

namespace {

// Frames are stored once for all profiles.
class FrameTable {
 public:
  std::size_t index_of(const StackFrame& frame) {
    const auto [found, is_new] = indices_.try_emplace(frame, frames_.size());
    if (is_new) {
      Json one = {{"name", frame.name.empty() ? "(no name)" : frame.name}};
      if (!frame.file.empty()) one["file"] = frame.file;
      if (frame.line > 0) one["line"] = frame.line;
      frames_.push_back(std::move(one));
    }
    return found->second;
  }
  const Json& frames() const { return frames_; }

 private:
  std::map<StackFrame, std::size_t> indices_;
  Json frames_ = Json::array();
};

Json profile_json(const StackProfile& profile, const std::string& title, FrameTable& table) {
  Json samples = Json::array(), weights = Json::array();
  base::Bytes sum;
  std::vector<const StackWeight*> sorted;
  for (const StackWeight& stack : profile.stacks) sorted.push_back(&stack);
  std::ranges::stable_sort(sorted, std::ranges::greater(), [](const StackWeight* stack) { return stack->bytes; });
  for (const StackWeight* stack : sorted) {
    Json frames = Json::array();
    for (const StackFrame& frame : stack->frames) frames.push_back(table.index_of(frame));
    samples.push_back(std::move(frames));
    weights.push_back(stack->bytes.count());
    sum += stack->bytes;
  }
  return {{"type", "sampled"},
          {"name", title + ": " + profile.name},
          {"unit", "bytes"},
          {"startValue", 0},
          {"endValue", sum.count()},
          {"samples", std::move(samples)},
          {"weights", std::move(weights)}};
}

}  // namespace

std::string profiles_to_speedscope(const std::vector<ExportFacts>& exported, std::string_view version) {
  FrameTable table;
  Json profiles = Json::array();
  for (const ExportFacts& facts : exported) {
    for (const StackProfile& profile : facts.profiles) profiles.push_back(profile_json(profile, facts.title, table));
  }
  const Json file = {{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                     {"shared", {{"frames", table.frames()}}},
                     {"profiles", std::move(profiles)},
                     {"name", exported.empty() ? "vramfit" : exported.front().title},
                     {"activeProfileIndex", 0},
                     {"exporter", fmt::format("vramfit {}", version)}};
  return base::json_line(file) + "\n";
}

}  // namespace vramfit::report::exports
