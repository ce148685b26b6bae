#include "app/check/learned_workspaces.h"

#include <fmt/format.h>

#include <utility>

#include "compare/workspaces.h"

namespace vramfit::app {

namespace {

using compare::Marks;

// What the virtual cuDNN noted of each plan: "engine 0; LAYER". A size that stands for two layers tells neither.
Marks marks_of(const std::vector<model::Recording>& recordings) {
  Marks marks;
  for (const model::Recording& recording : recordings) {
    for (const vf_record& record : recording.records) {
      if (record.kind != VF_RECORD_WORKSPACE) continue;
      const std::string_view text = recording.text(record.text);
      const std::size_t at = text.find("; ");
      if (at == std::string_view::npos) continue;
      const auto [mark, is_new] = marks.try_emplace(record.size, text.substr(at + 2));
      if (!is_new && mark->second != text.substr(at + 2)) mark->second.clear();
    }
  }
  return marks;
}

std::int64_t distance(const model::CheckResult& result) { return result.only_recorded + result.only_virtual; }

std::string describe_unclear(std::size_t unclear) {
  return unclear == 0 ? "" : fmt::format("; of {} more the recording does not tell it", unclear);
}

}  // namespace

base::Result<WorkspaceLesson> learn_workspaces(const CheckRequest& request, const model::CheckResult& before,
                                               Runner& runner, base::ProgressSink& progress) {
  RunRequest job = request.job;
  job.quiet_child = true;
  job.workspaces.clear();
  job.mark_workspaces = true;
  progress.say("learning workspaces: the job runs twice more, without showing what it prints");
  const auto marked = compare_run(request, job, runner, progress);
  if (!marked) return std::unexpected(marked.error());
  WorkspaceLesson lesson;
  if (!marked->partner) return lesson;
  auto read =
      compare::read_workspaces(request.recorded.stream, marked->partner->stream, marks_of(marked->outcome.recordings));
  if (read.layers.empty()) {
    lesson.note = "no workspaces were learned: none of the job's convolutions could be told in the recording";
    return lesson;
  }
  job.mark_workspaces = false;
  job.workspaces = read.layers;
  auto after = compare_run(request, job, runner, progress);
  if (!after) return std::unexpected(after.error());
  if (distance(after->result) >= distance(before)) {
    lesson.note = fmt::format(
        "no workspaces were learned: with those that the recording seems to hold, {} events differ instead of {}",
        distance(after->result), distance(before));
    return lesson;
  }
  lesson.note =
      fmt::format("workspaces of {} convolutions; with them {} events differ instead of {}{}", read.layers.size(),
                  distance(after->result), distance(before), describe_unclear(read.unclear));
  lesson.workspaces = std::move(read.layers);
  lesson.run = std::move(*after);
  return lesson;
}

}  // namespace vramfit::app
