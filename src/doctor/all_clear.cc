#include "doctor/all_clear.h"

#include <fmt/format.h>

#include <algorithm>

namespace vramfit::doctor {

namespace {

using model::SourceLine;

constexpr const char* kWholeText = "the whole text, from the first line on, as the program printed it";

std::optional<Doubt> doubt_the_run(const Scene& scene) {
  if (!scene.has_run() || scene.run()->verdict != model::Verdict::kFailed) return std::nullopt;
  Doubt doubt{"The script failed, and not for want of memory", {}, "the run: " + scene.run()->reason, {}};
  if (scene.run()->error) {
    doubt.reasoning = fmt::format("the run: {}: {}", scene.run()->error->type, scene.run()->error->message);
    if (!scene.run()->error->remedy.empty()) doubt.give.push_back(scene.run()->error->remedy);
  }
  return doubt;
}

std::optional<Doubt> doubt_what_was_not_read(const Scene& scene) {
  if (!scene.given.unread.empty()) {
    return Doubt{"A part of what was given could not be read", {}, scene.given.unread.front(), {}};
  }
  for (const SnapshotFile& file : scene.given.snapshots) {
    if (!file.snapshot.truncated_at) continue;
    return Doubt{"The snapshot is damaged, and what is lost may be what failed",
                 {file.file, 0, ""},
                 fmt::format("it can be read up to byte {}: {}", *file.snapshot.truncated_at, file.snapshot.damage),
                 {"the whole snapshot: copy it again, or dump it again"}};
  }
  for (const model::TextFile& file : scene.texts.files) {
    if (file.complete) continue;
    return Doubt{"A part of the text was not read", {file.name, 0, ""}, "a limit ended the reading", {kWholeText}};
  }
  return std::nullopt;
}

// What a script prints is the script's own matter where it was watched while it ran.
bool was_watched(const Scene& scene, const SourceLine& at) { return scene.has_run() && at.file == "the run's output"; }
bool is_explained(const Scene& scene, const SourceLine& at) {
  const bool of_open_files =
      scene.lacks_open_files() && std::ranges::any_of(scene.texts.shm_errors, [&](const model::ShmError& error) {
        return error.at.file == at.file && error.at.line == at.line;
      });
  return of_open_files || was_watched(scene, at) || scene.was_handled(at);
}

std::optional<Doubt> doubt_words(const Scene& scene) {
  for (const SourceLine& at : scene.texts.oom_mentions) {
    if (is_explained(scene, at)) continue;
    return Doubt{"Memory of the GPU is said to have run out, and the message itself is not here",
                 at,
                 "this speaks of it, without a number",
                 {"the whole message, from \"CUDA out of memory\" on, and the traceback above it"}};
  }
  for (const SourceLine& at : scene.texts.memory_words) {
    if (is_explained(scene, at)) continue;
    return Doubt{"There is trouble with memory, in words that are not known here",
                 at,
                 "it says so, and neither whose memory it is nor what held it",
                 {kWholeText, "nvidia-smi (or the like for this device) and free -h at the time of the failure"}};
  }
  return std::nullopt;
}

// The names of the files that something was found in.
std::vector<std::string> known_files(const model::Evidence& texts) {
  std::vector<std::string> names;
  const auto add = [&](const auto& entries) {
    for (const auto& entry : entries) names.push_back(entry.at.file);
  };
  add(texts.tracebacks);
  add(texts.launch_failures);
  add(texts.library_errors);
  add(texts.host_kills);
  add(texts.summaries);
  add(texts.gpu_status);
  add(texts.training);
  add(texts.foreign);
  add(texts.host);
  add(texts.settings);
  add(texts.remarks);
  for (const SourceLine& at : texts.other_errors) names.push_back(at.file);
  return names;
}

std::optional<Doubt> doubt_what_is_not_known(const Scene& scene) {
  const std::vector<std::string> known = known_files(scene.texts);
  for (const model::TextFile& file : scene.texts.files) {
    const SourceLine at{file.name, 0, ""};
    if (was_watched(scene, at)) continue;
    if (file.looks == model::TextLooks::kEmpty) {
      return Doubt{"There is nothing in it",
                   at,
                   "the file is empty",
                   {"what the program printed, stderr too: 2>&1 | tee train.log"}};
    }
    if (file.looks == model::TextLooks::kLog || std::ranges::find(known, file.name) != known.end()) continue;
    return Doubt{"Nothing in it is of a kind that is known here",
                 at,
                 "it is no log, traceback, table or message that vramfit can read",
                 {kWholeText}};
  }
  for (const SnapshotFile& file : scene.given.snapshots) {
    if (!file.snapshot.segments.empty()) continue;
    return Doubt{"There is nothing in the snapshot",
                 {file.file, 0, ""},
                 "it has no segment: no memory of a card was in use, or it was taken before CUDA began",
                 {"a snapshot of the failure, from the process that failed"}};
  }
  return std::nullopt;
}

bool is_cuda_kernel_failure(const model::LibraryError& error) {
  return mentions(error.message, {"assert", "illegal memory access", "misaligned"});
}

}  // namespace

std::optional<Doubt> find_doubt(const Scene& scene) {
  for (const auto find : {doubt_the_run, doubt_what_was_not_read, doubt_words, doubt_what_is_not_known}) {
    if (auto doubt = find(scene)) return doubt;
  }
  return std::nullopt;
}

std::optional<SourceLine> find_other_failure(const Scene& scene) {
  const model::Evidence& texts = scene.texts;
  // The first of them: a kernel that failed makes every later call fail too.
  const auto kernel = std::ranges::find_if(texts.library_errors, is_cuda_kernel_failure);
  if (kernel != texts.library_errors.end()) return kernel->at;
  if (!texts.library_errors.empty()) return texts.library_errors.front().at;
  for (auto traceback = texts.tracebacks.rbegin(); traceback != texts.tracebacks.rend(); ++traceback) {
    if (traceback->exceptions.empty()) continue;
    const model::TracedException& last = traceback->exceptions.back();
    if (!last.type.empty()) return SourceLine{traceback->at.file, last.last_line, last.type + ": " + last.message};
  }
  if (!texts.other_errors.empty()) return texts.other_errors.back();
  return std::nullopt;
}

}  // namespace vramfit::doctor
