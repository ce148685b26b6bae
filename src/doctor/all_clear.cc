#include "doctor/all_clear.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/out_of_memory.h"
#include "doctor/host_series.h"
#include "doctor/last_line.h"
#include "doctor/leak.h"
#include "doctor/not_run.h"
#include "liveness/growth.h"

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

// Growth is judged from step to step, or from pass to pass of a loop that keeps what it makes: without either it is not
// known to be none, however much is held at the end.
std::optional<Doubt> doubt_growth(const Scene& scene) {
  for (const model::Growth& growth : scene.runtime().growth) {
    if (!scene.has_run() || growth.per_step.count() > 0) continue;
    return Doubt{"Memory was still growing when the run was ended: perhaps a leak",
                 {},
                 "the run: " + liveness::describe_growth(growth),
                 {"a longer run: vramfit doctor --within 120 -- COMMAND"}};
  }
  if (scene.was_cut_within(kStepsToClear)) {
    return Doubt{"The run was cut too short to tell whether memory grows",
                 {},
                 words_of_short_cut(scene),
                 {"a longer run: vramfit doctor --within 120 -- COMMAND"}};
  }
  if (!scene.has_run() || scene.saw_steps() || scene.runtime().judged_passes >= kPassesToClear) return std::nullopt;
  return Doubt{
      "No step was seen, so whether memory grows is not known",
      {},
      "the run: no step of an optimizer, no evaluation that has batches, no loop that was seen to pile anything up",
      {"a log of torch.cuda.memory_allocated(), printed in each round of its loop"}};
}

// A branch that went one way because nothing was computed: the other way may be the one that keeps memory.
std::optional<Doubt> doubt_values(const Scene& scene) {
  const model::DataDependence* branch = scene.has_run() ? model::find_chosen_branch(*scene.run()) : nullptr;
  if (branch == nullptr) return std::nullopt;
  return Doubt{"Nothing grew, but a branch hangs on a value that a virtual card does not compute",
               {},
               fmt::format("the run: {} at {}", branch->what, branch->line),
               {"a run with values computed: vramfit doctor --values cpu --timeout 600 -- COMMAND"}};
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
  for (const SnapshotFile& file : scene.given.snapshots) {
    for (const auto& [what, unread] : file.snapshot.unread) {
      if (unread.weight != model::LossSeverity::kWrongAnswerPossible) continue;
      return Doubt{"The snapshot says what can't be, and nothing follows from the rest",
                   {file.file, 0, ""},
                   fmt::format("{} ({} times)", what, unread.count),
                   {"the snapshot as PyTorch dumped it"}};
    }
  }
  for (const model::TextFile& file : scene.texts.files) {
    if (file.complete) continue;
    return Doubt{"A part of the text was not read", {file.name, 0, ""}, "a limit ended the reading", {kWholeText}};
  }
  return std::nullopt;
}

// Nothing was looked at but what was to be run: neither its words of memory nor their absence tell what it does.
std::optional<Doubt> doubt_what_was_not_run(const Scene& scene) {
  if (!was_nothing_run(scene)) return std::nullopt;
  const model::TextFile& file = scene.texts.files.front();
  const auto it = find_not_run(scene, file);
  Doubt doubt{fmt::format("{} is {}, and it was not run", file.name, it->what),
              {file.name, 0, ""},
              "it says what is to be done, not what came of it",
              {"a run of it, which needs no GPU: " + it->command,
               "what it printed when it was run, errors too: 2>&1 | tee train.log"}};
  doubt.severity = model::Severity::kWarning;
  doubt.next = {"Run it, on a virtual card: no GPU is needed", it->command, std::nullopt, "",
                it->fills_in ? model::Applicability::kFillIn : model::Applicability::kAsIs};
  return doubt;
}

// What a script prints is the script's own matter where it was watched while it ran.
bool was_watched(const Scene& scene, const SourceLine& at) { return scene.has_run() && at.file == "the run's output"; }
bool is_explained(const Scene& scene, const SourceLine& at) {
  const bool of_open_files =
      scene.lacks_open_files() && std::ranges::any_of(scene.texts.shm_errors, [&](const model::ShmError& error) {
        return error.at.file == at.file && error.at.line == at.line;
      });
  // What a kernel's failed assertion leaves behind makes every later call fail, with whatever words.
  return of_open_files || scene.kernel_failed() || was_watched(scene, at) || scene.was_handled(at);
}

// A table of a card that is all but full, by itself: something is wrong there, or will be, and no failure is told.
std::optional<Doubt> doubt_full_card(const Scene& scene) {
  constexpr double kAllButFull = 0.9;
  for (const model::GpuStatus& status : scene.texts.gpu_status) {
    for (const model::GpuCard& card : status.cards) {
      if (!card.used || !card.total || card.total->value.count() <= 0) continue;
      const double share =
          static_cast<double>(card.used->value.count()) / static_cast<double>(card.total->value.count());
      if (share < kAllButFull || was_watched(scene, status.at)) continue;
      return Doubt{fmt::format("A card is {:.0f} % full, and no failure is here that would tell whether that is one",
                               100 * share),
                   status.at,
                   "the table shows what is used, not what was asked for",
                   {"the message of what failed, where something did"}};
    }
  }
  return std::nullopt;
}

// An error that is called another than one of memory, and says itself that memory may be behind it.
std::optional<Doubt> doubt_supposed(const Scene& scene) {
  for (const SourceLine& at : scene.texts.supposed) {
    if (is_explained(scene, at)) continue;
    return Doubt{"What failed gives want of memory as a possible reason",
                 at,
                 "nothing else that is here tells why it failed",
                 {kWholeText, "free -h, nvidia-smi and dmesg -T | grep -i kill at the time of the failure"}};
  }
  return std::nullopt;
}

// The thing that made it go is what it came from.
std::optional<Doubt> doubt_cured(const Scene& scene) {
  if (scene.has_run()) return std::nullopt;
  for (const model::Remarkable& remark : scene.texts.remarks) {
    const bool is_of_failure = remark.kind == model::SentenceKind::kToldMemoryCured && find_other_failure(scene);
    if (model::cause_named_by(remark.kind).empty() && !is_of_failure) continue;
    return Doubt{"What is said to have cured it cures trouble with memory",
                 remark.at,
                 "nothing else that is here says that memory was the matter",
                 {kWholeText}};
  }
  return std::nullopt;
}

std::optional<Doubt> doubt_words(const Scene& scene) {
  for (const model::Remarkable& remark : scene.texts.remarks) {
    if (remark.kind != model::SentenceKind::kKilledByLauncher || find_other_failure(scene)) continue;
    return Doubt{"A launcher ended its processes, and nothing here says why",
                 remark.at,
                 "one of them had failed, or was killed from outside: for want of the host's memory, say",
                 {"what stands above it, of each rank; dmesg -T | grep -i kill"}};
  }
  for (const model::Remarkable& remark : scene.texts.remarks) {
    const bool is_end =
        remark.kind == model::SentenceKind::kKernelRestarted || remark.kind == model::SentenceKind::kKernelDied;
    if (!is_end || was_watched(scene, remark.at)) continue;
    return Doubt{"The kernel of a notebook ended, and nothing here says why",
                 remark.at,
                 "a restart that nobody asked for is mostly the host's memory",
                 {"what the kernel printed before it, and dmesg -T (or the notebook's log of the runtime)"}};
  }
  for (const model::Remarkable& remark : scene.texts.remarks) {
    const bool is_left_out =
        remark.kind == model::SentenceKind::kPartlyOffloaded || remark.kind == model::SentenceKind::kOffloaded;
    if (!is_left_out || was_watched(scene, remark.at)) continue;
    return Doubt{"A part of the model was left in the host's memory, for want of room on the card",
                 remark.at,
                 "each step waits for what is copied over, which is many times slower: no failure, unless it is this "
                 "that you ask about",
                 {"what makes it too slow or wrong; a smaller or a quantized model (fp8, GGUF) fits whole"}};
  }
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

// What people tell in prose. Nothing is left of growth that was denied afterwards: the last word counts.
std::optional<Doubt> doubt_told(const Scene& scene) {
  const bool failed_otherwise = find_other_failure(scene).has_value();
  for (const model::ToldSentence& told : scene.texts.told) {
    if (told.kind != model::ToldKind::kTrouble || scene.was_handled(told.at) || is_denied_later(scene.texts, told))
      continue;
    if (!told.names_memory && failed_otherwise) continue;  // that is why
    return Doubt{told.names_memory ? "Somebody tells of trouble with memory, and not enough to say whose fault it is"
                                   : "Something stopped, and nothing here says why",
                 told.at,
                 "it says so in prose, without the numbers or the message that would tell the cause",
                 {kWholeText, "nvidia-smi and free -h at the time of the failure"}};
  }
  return std::nullopt;
}

// "No VRAM leak any more", "it stays at 6 GB": the last word counts, unless it denies all trouble.
bool is_said_to_be_well(const model::Evidence& texts, const model::TextFile& file) {
  return std::ranges::any_of(texts.told, [&](const model::ToldSentence& told) {
    return told.kind == model::ToldKind::kIsWell && told.at.file == file.name &&
           (told.denies_growth || !told.names_memory || told.at.line >= file.last_not_understood);
  });
}

bool is_said_not_to_grow(const model::Evidence& texts, const model::TextFile& file) {
  return std::ranges::any_of(
      texts.told, [&](const model::ToldSentence& told) { return told.denies_growth && told.at.file == file.name; });
}

// An amount beside an error that is named is a figure of the machine or of the job ("a card with 24 GB of memory"),
// unless somebody changes it, and a label announces one: "total amount of global memory:".
bool is_figure_or_explained(const Scene& scene, const model::ToldSentence& told) {
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  const bool is_figure = std::ranges::any_of(told.at.text, is_digit) &&
                         !mentions(told.at.text, {"increas", "rais", "reduc", "lower", "limit", "more", "instead",
                                                  "work", "solve", "fix", "helps", "helped"});
  return is_figure || scene.kernel_failed() || told.at.text.ends_with(':');
}

// Prose that speaks of memory, and neither of a failure nor of health, in a text that is no document.
std::optional<Doubt> doubt_mentioned(const Scene& scene) {
  const bool failed_otherwise = find_other_failure(scene).has_value();
  for (const model::TextFile& file : scene.texts.files) {
    if (file.kind == model::TextKind::kDocument || file.kind == model::TextKind::kSource) continue;
    const model::ToldSentence* mentioned = nullptr;
    bool is_well = false;
    for (const model::ToldSentence& told : scene.texts.told) {
      if (told.at.file != file.name) continue;
      is_well = is_well || told.kind == model::ToldKind::kIsWell;
      if (mentioned != nullptr || told.kind != model::ToldKind::kMentioned || scene.was_handled(told.at)) continue;
      if (!failed_otherwise || !is_figure_or_explained(scene, told)) mentioned = &told;
    }
    if (mentioned == nullptr || is_well) continue;
    return Doubt{"Memory is spoken of, and it is not said whether anything failed",
                 mentioned->at,
                 "no failure is told in words that are known here, and no health either",
                 {"what went wrong, if anything did: the message, or memory by steps"}};
  }
  return std::nullopt;
}

// What is said in prose and not understood. In a few lines all is the writer's own; in more of a question it is what he
// says of himself that counts, and a longer document tells of nobody.
const SourceLine* find_not_understood(const model::TextFile& file) {
  constexpr std::int64_t kFewLines = 4;
  const bool is_short = file.lines <= kFewLines;
  if (file.kind == model::TextKind::kSource || (file.kind == model::TextKind::kDocument && !is_short)) return nullptr;
  const bool is_long_question = file.kind == model::TextKind::kQuestion && !is_short;
  const auto& said = is_long_question ? file.not_understood_of_writer : file.not_understood;
  return said ? &*said : nullptr;
}

// Prose that no reader made anything of may tell of trouble in words that are not known here. A log speaks for itself.
std::optional<Doubt> doubt_prose(const Scene& scene) {
  if (find_other_failure(scene)) return std::nullopt;
  for (const model::TextFile& file : scene.texts.files) {
    if (file.looks == model::TextLooks::kLog) continue;
    const SourceLine* said = find_not_understood(file);
    if (said == nullptr || was_watched(scene, *said) || scene.was_handled(*said)) continue;
    if (is_said_to_be_well(scene.texts, file)) continue;
    return Doubt{"Somebody tells something, in words that are not known here",
                 *said,
                 "whether memory is the matter does not follow from it",
                 {kWholeText, "nvidia-smi and free -h at the time of the failure"}};
  }
  return std::nullopt;
}

// What readers made something of is no strange end, whatever its words. That a figure of memory is in a line explains
// no other word of it.
bool is_understood(const model::Evidence& texts, const SourceLine& last) {
  const auto is_at = [&](const auto& entry) {
    return entry.at.file == last.file && !entry.at.text.empty() && last.text.ends_with(entry.at.text);
  };
  return std::ranges::any_of(texts.remarks, is_at) || std::ranges::any_of(texts.foreign, is_at) ||
         std::ranges::any_of(texts.host, is_at) || std::ranges::any_of(texts.told, is_at);
}

// A log that ends in a line like none above it, which nobody understood: a failure is what programs say last.
std::optional<Doubt> doubt_last_line(const Scene& scene) {
  if (find_other_failure(scene) || scene.kernel_failed()) return std::nullopt;
  for (const model::TextFile& file : scene.texts.files) {
    if (file.looks != model::TextLooks::kLog || file.kind != model::TextKind::kNone ||
        file.program != model::ProgramIn::kNone || find_not_run(scene, file))
      continue;
    const auto last = find_strange_last_line(file);
    if (!last || was_watched(scene, *last) || scene.was_handled(*last) || is_understood(scene.texts, *last) ||
        is_said_to_be_well(scene.texts, file))
      continue;
    return Doubt{"The log ends in words that are not known here, like none before them",
                 *last,
                 "a program that fails says so last, and whether this one did does not follow from the rest",
                 {kWholeText, "dmesg -T, nvidia-smi and free -h at the time it ended"}};
  }
  return std::nullopt;
}

// The host's memory, beside the steps of a log: when it is full the kernel ends somebody, without a word here.
std::optional<Doubt> doubt_host_rise(const Scene& scene) {
  for (const model::TextFile& file : scene.texts.files) {
    const auto rise = find_host_rise(file);
    if (!rise || was_watched(scene, rise->at)) continue;
    return Doubt{"The host's memory rises from line to line, and what of it is meant to is not said",
                 rise->at,
                 fmt::format("\"{}\" is {:g} at first and {:g} after {} readings", rise->label, rise->first, rise->last,
                             rise->readings),
                 {"free -h at the beginning and at the end, and dmesg -T | grep -i kill",
                  "the script: what of each step it keeps (vramfit doctor -- python SCRIPT)"}};
  }
  return std::nullopt;
}

// A text that ends within a traceback: the error stood behind it.
std::optional<Doubt> doubt_cut_traceback(const Scene& scene) {
  const auto& tracebacks = scene.texts.tracebacks;
  for (auto last = tracebacks.rbegin(); last != tracebacks.rend(); ++last) {
    const std::string& file = last->at.file;
    const bool is_last = std::none_of(tracebacks.rbegin(), last, [&](const auto& one) { return one.at.file == file; });
    if (!is_last || was_watched(scene, last->at)) continue;
    if (!last->truncated || last->exceptions.empty() || !last->exceptions.back().type.empty()) continue;
    const auto is_behind = [&](const SourceLine& at) { return at.file == file && at.line >= last->at.line; };
    const bool told = std::ranges::any_of(scene.texts.other_errors, is_behind) ||
                      std::ranges::any_of(scene.texts.library_errors,
                                          [&](const model::LibraryError& error) { return is_behind(error.at); });
    if (told) continue;
    return Doubt{"A traceback ends before its error",
                 last->at,
                 "what failed stands behind its last frame, and is not here",
                 {"the lines behind the traceback, to its last one: the error's name and message"}};
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
    if (file.looks == model::TextLooks::kLog || file.kind != model::TextKind::kNone ||
        std::ranges::find(known, file.name) != known.end() || is_said_not_to_grow(scene.texts, file))
      continue;
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
  for (const auto find : {doubt_the_run, doubt_what_was_not_read, doubt_what_was_not_run, doubt_words, doubt_told,
                          doubt_supposed, doubt_cured, doubt_cut_traceback, doubt_what_is_not_known, doubt_mentioned,
                          doubt_prose, doubt_last_line, doubt_host_rise, doubt_growth, doubt_values, doubt_full_card}) {
    if (auto doubt = find(scene)) return doubt;
  }
  return std::nullopt;
}

bool is_denied_later(const model::Evidence& texts, const model::ToldSentence& told) {
  return std::ranges::any_of(texts.told, [&](const model::ToldSentence& later) {
    return later.denies_growth && later.at.file == told.at.file && later.at.line > told.at.line;
  });
}

std::optional<SourceLine> find_other_failure(const Scene& scene) {
  const model::Evidence& texts = scene.texts;
  const auto was_got_over = [&](const SourceLine& at) {
    return scene.was_handled(at) && base::says_out_of_memory(at.text);
  };
  // The first of them: a kernel that failed makes every later call fail too.
  const auto kernel = std::ranges::find_if(texts.library_errors, is_cuda_kernel_failure);
  if (kernel != texts.library_errors.end()) return kernel->at;
  if (!texts.library_errors.empty()) return texts.library_errors.front().at;
  for (auto traceback = texts.tracebacks.rbegin(); traceback != texts.tracebacks.rend(); ++traceback) {
    if (traceback->exceptions.empty()) continue;
    const model::TracedException& last = traceback->exceptions.back();
    const SourceLine at{traceback->at.file, last.last_line, last.type + ": " + last.message};
    if (!last.type.empty() && !was_got_over(at)) return at;
  }
  for (auto error = texts.other_errors.rbegin(); error != texts.other_errors.rend(); ++error) {
    if (!was_got_over(*error)) return *error;
  }
  return std::nullopt;
}

}  // namespace vramfit::doctor
