#include "app/doctor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

#include "app/catalogue.h"
#include "app/replay.h"
#include "base/file.h"
#include "base/nearest_word.h"
#include "base/temporary_file.h"
#include "doctor/cause.h"
#include "doctor/diagnose.h"
#include "ingest/oom_report.h"
#include "ingest/snapshot/reader.h"
#include "ingest/text/read_text.h"
#include "job/installation.h"

namespace vramfit::app {

using base::ErrorCode;
using base::Result;

namespace {

constexpr std::size_t kHead = 512;          // bytes by which a snapshot is known
constexpr std::uintmax_t kSlow = 64 << 20;  // files from here on take more than a moment

std::string head_of(const std::filesystem::path& path) {
  std::string head(kHead, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return head;
}

// A report.json of VRAMFIT_ON_OOM: who held what, by the script's own names.
Result<void> read_report(const std::filesystem::path& path, doctor::Case& into) {
  const auto text = base::read_file(path);
  if (!text) return std::unexpected(text.error());
  auto evidence = ingest::read_oom_report(*text);
  if (!evidence) {
    evidence.error().where = path.string();
    return std::unexpected(evidence.error());
  }
  into.oom_report = std::move(*evidence);
  return {};
}

Result<void> read_text(const std::filesystem::path& path, doctor::Case& into) {
  auto evidence =
      path == "-" ? ingest::read_text_evidence(std::cin, "standard input") : ingest::read_text_evidence(path);
  if (!evidence) return std::unexpected(evidence.error());
  ingest::merge_evidence(into.texts, std::move(*evidence));
  return {};
}

// A named pipe is opened for good only if somebody writes to it: opening one that nobody writes to waits for ever.
// tee() tells without taking a byte: 0 is no writer and nothing left. The end is held until the text is read, for a
// writer whose only reader goes away is killed.
Result<void> read_fifo(const std::filesystem::path& path, doctor::Case& into) {
  const int end = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  int probe[2] = {-1, -1};
  const bool asked = end >= 0 && ::pipe2(probe, O_CLOEXEC) == 0;
  const bool no_writer = asked && ::tee(end, probe[1], 1, SPLICE_F_NONBLOCK) == 0;
  for (const int one : probe) {
    if (one >= 0) ::close(one);
  }
  auto read = no_writer ? Result<void>(base::fail(ErrorCode::kUnsupported, "nobody writes to this pipe", path.string(),
                                                  "start what writes to it first, or give \"-\" and pipe the text in"))
                        : read_text(path, into);
  if (end >= 0) ::close(end);
  return read;
}

Result<void> read_file(const std::filesystem::path& path, doctor::Case& into) {
  std::error_code problem;
  if (path != "-" && std::filesystem::is_fifo(path, problem)) return read_fifo(path, into);
  const bool regular = path == "-" || std::filesystem::is_regular_file(path, problem);
  if (!regular || path == "-") return read_text(path, into);
  const std::string head = head_of(path);
  if (ingest::is_oom_report(head)) return read_report(path, into);
  if (!ingest::sniff_snapshot(std::as_bytes(std::span(head)))) return read_text(path, into);
  auto snapshot = ingest::read_snapshot(path);
  if (!snapshot) {
    // What only looked like one, by its first bytes, may be a text.
    if (read_text(path, into)) return {};
    return std::unexpected(snapshot.error());
  }
  into.snapshots.push_back({path.string(), std::move(*snapshot), std::nullopt});
  return {};
}

// What other settings would have done to the recorded program, where it failed: a proof instead of folklore. One that
// cannot be replayed stays as it is.
void replay_snapshots(doctor::Case& all, base::ProgressSink& progress) {
  for (doctor::SnapshotFile& file : all.snapshots) {
    const auto& traces = file.snapshot.traces;
    const bool failed = std::any_of(traces.begin(), traces.end(), [](const auto& trace) {
      return std::any_of(trace.begin(), trace.end(),
                         [](const auto& entry) { return entry.action == model::TraceAction::kOom; });
    });
    if (!failed) continue;
    ReplayRequest request;
    request.file = file.file;
    request.search = true;
    if (auto replayed = replay(request, progress)) file.replay = std::move(*replayed);
    progress.clear();
  }
}

std::string as_typed(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) {
    const bool plain = !word.empty() && word.find_first_of(" \t\"'$`\\*?") == std::string::npos;
    text += (text.empty() ? "" : " ") + (plain ? word : "'" + word + "'");
  }
  return text;
}

void name_output(model::Evidence& evidence, const std::string& path) {
  const auto rename = [&](std::string& file) {
    if (file == path) file = "the run's output";
  };
  for (auto& file : evidence.files) rename(file.name);
  for (auto& entry : evidence.ooms) rename(entry.at.file);
  for (auto& entry : evidence.oom_mentions) rename(entry.file);
  for (auto& entry : evidence.memory_words) rename(entry.file);
  for (auto& entry : evidence.other_errors) rename(entry.file);
  for (auto& entry : evidence.tracebacks) rename(entry.at.file);
  for (auto& entry : evidence.library_errors) rename(entry.at.file);
  for (auto& entry : evidence.host_kills) rename(entry.at.file);
  for (auto& entry : evidence.shm_errors) rename(entry.at.file);
  for (auto& entry : evidence.settings) rename(entry.at.file);
  for (auto& entry : evidence.training) rename(entry.at.file);
  for (auto& entry : evidence.facts) rename(entry.at.file);
}

Result<void> run_script(const DoctorRequest& request, job::Runner& runner, base::ProgressSink& progress,
                        doctor::Case& into) {
  const base::TemporaryFile output("doctor");  // what a run prints is evidence as any log is
  job::RunRequest run = *request.run;
  run.diagnose = true;
  run.quiet_child = true;
  run.child_output = output.path();
  auto outcome = runner.run(run, progress);
  progress.clear();
  if (!outcome) return std::unexpected(outcome.error());
  into.command = as_typed(request.run->command);
  into.gpu = request.gpu;
  if (auto printed = ingest::read_text_evidence(output.path())) {
    name_output(*printed, output.path().string());
    ingest::merge_evidence(into.texts, std::move(*printed));
  }
  if (outcome->result.oom && !outcome->result.oom->caught && into.texts.ooms.empty()) {
    ingest::merge_evidence(
        into.texts,
        ingest::parse_text_evidence("torch.OutOfMemoryError: " + outcome->result.oom->message + "\n", "the run"));
  }
  into.run = std::move(outcome->result);
  return {};
}

}  // namespace

Result<model::Diagnosis> diagnose(const DoctorRequest& request, job::Runner& runner, base::ProgressSink& progress) {
  doctor::Case all;
  std::optional<base::Error> first_error;
  for (const std::filesystem::path& path : request.files) {
    std::error_code ignored;
    if (path != "-" && std::filesystem::file_size(path, ignored) > kSlow && !ignored) {
      progress.update("reading " + path.string());
    }
    const auto read = read_file(path, all);
    if (read) continue;
    all.unread.push_back(base::to_string(read.error()));
    if (!first_error) first_error = read.error();
  }
  progress.clear();
  const bool something = all.unread.size() < request.files.size() || request.run;
  if (!something && first_error) return std::unexpected(*first_error);
  if (request.run) {
    if (auto ran = run_script(request, runner, progress, all); !ran) return std::unexpected(ran.error());
  }
  replay_snapshots(all, progress);
  if (auto cards = load_catalogue()) all.cards = std::move(*cards);
  all.card = request.card;
  model::Diagnosis diagnosis = doctor::diagnose(all);
  diagnosis.warnings.insert(diagnosis.warnings.begin(), all.unread.begin(), all.unread.end());
  return diagnosis;
}

std::vector<model::CausePage> cause_pages() {
  std::vector<model::CausePage> pages;
  for (const doctor::Cause* cause : doctor::all_causes()) pages.push_back(doctor::page_of(*cause));
  return pages;
}

namespace {

constexpr const char* kListsAll = "vramfit explain lists them all";
std::string no_cause(const std::string& name) { return fmt::format("there is no cause \"{}\"", name); }
std::string did_you_mean(const std::string& word) { return fmt::format("did you mean {}? {}", word, kListsAll); }

}  // namespace

Result<model::CausePage> find_cause_page(const std::string& name) {
  if (const doctor::Cause* cause = doctor::find_cause(name)) return doctor::page_of(*cause);
  std::string zeros = name;  // "VF2O1": codes have no O
  std::ranges::replace(zeros, 'O', '0');
  std::vector<std::string> known;
  for (const doctor::Cause* cause : doctor::all_causes()) {
    if (zeros == cause->code) return base::fail(ErrorCode::kNotFound, no_cause(name), "", did_you_mean(zeros));
    known.emplace_back(cause->label);
  }
  const auto nearest = base::nearest_word(name, known);
  return base::fail(ErrorCode::kNotFound, no_cause(name), "", nearest ? did_you_mean(*nearest) : kListsAll);
}

std::string example_of(const model::CausePage& page) {
  const auto installation = job::find_installation();
  if (!installation) return "";
  // What cannot be made to happen on a virtual card is shown by a text that it leaves.
  for (const char* ending : {".py", ".txt"}) {
    std::ifstream file(installation->root / "share" / "vramfit" / "causes" / (page.label + ending), std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(file), {});
    if (!text.empty()) return text;
  }
  return "";
}

std::optional<job::CardChoice> card_named_in(const std::vector<std::filesystem::path>& files) {
  const auto cards = load_catalogue();
  if (!cards) return std::nullopt;
  doctor::Case texts;
  for (const std::filesystem::path& path : files) {
    // What can't be read is said when the files are read for good.
    if (path != "-") static_cast<void>(read_file(path, texts));
  }
  for (const model::GpuStatus& status : texts.texts.gpu_status) {
    for (const model::GpuCard& seen : status.cards) {
      const auto same =
          std::find_if(cards->begin(), cards->end(), [&](const model::Card& card) { return card.name == seen.name; });
      if (same != cards->end()) return job::CardChoice{*same, std::nullopt};
    }
  }
  // Without a name the total says it: cards of one size differ little in what fits them.
  for (const model::OomMessage& oom : texts.texts.ooms) {
    if (!oom.total) continue;
    const auto nearest = std::min_element(cards->begin(), cards->end(), [&](const auto& a, const auto& b) {
      return std::abs(a.memory.count() - oom.total->value.count()) <
             std::abs(b.memory.count() - oom.total->value.count());
    });
    if (nearest != cards->end()) return job::CardChoice{*nearest, oom.total->value};
  }
  return std::nullopt;
}

}  // namespace vramfit::app
