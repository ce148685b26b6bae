#include "app/check/learned_workspaces.h"

#include <fmt/format.h>

#include <utility>

#include "compare/workspaces.h"
#include "facts/block_events.h"

namespace vramfit::app {

namespace {

std::int64_t distance(const model::CheckResult& result) { return result.only_recorded + result.only_virtual; }

std::string describe_unclear(std::size_t unclear) {
  return unclear == 0 ? "" : fmt::format("; of {} more the recording does not tell it", unclear);
}

}  // namespace

base::Result<WorkspaceLesson> learn_workspaces(const CheckRequest& request, const model::CheckResult& before,
                                               job::Runner& runner, base::ProgressSink& progress) {
  job::RunRequest job = request.job;
  job.quiet_child = true;
  job.workspaces.clear();
  job.mark_workspaces = true;
  progress.say("learning workspaces: the job runs twice more, without showing what it prints");
  const auto marked = compare_run(request, job, runner, progress);
  if (!marked) return std::unexpected(marked.error());
  WorkspaceLesson lesson;
  if (!marked->partner) return lesson;
  auto read = compare::read_workspaces(request.recorded.stream, marked->partner->stream,
                                       facts::workspace_marks(*marked->outcome.facts));
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
