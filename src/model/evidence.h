// What texts that people keep after a crash say: logs, tracebacks, nvidia-smi, kernel messages. The readers of
// ingest/text/ fill it in, one entry per thing found, each with its file and line; the doctor judges. Nothing here is
// a judgement, and what a text does not say is absent, never 0.
#ifndef VRAMFIT_MODEL_EVIDENCE_H
#define VRAMFIT_MODEL_EVIDENCE_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/gpu_status.h"
#include "model/host_evidence.h"
#include "model/logged_memory.h"
#include "model/oom_message.h"
#include "model/other_programs.h"
#include "model/printed_bytes.h"
#include "model/source_line.h"
#include "model/told_sentence.h"
#include "model/traceback.h"

namespace vramfit::model {

// A parsed number, for --json. `bytes` for sizes, else `number`.
struct Fact {
  std::string name;  // "oom.tried", "gpu.0.used"
  std::optional<PrintedBytes> bytes;
  std::optional<double> number;
  SourceLine at;
  friend bool operator==(const Fact&, const Fact&) = default;
};

// Whether a text is of a kind that is known at all. Only then may it be called free of faults.
enum class TextLooks {
  kEmpty,    // not one letter, and hardly a sign
  kUnknown,  // words, but neither of a log nor of anything else that is read here
  kLog,      // dated lines, or steps, epochs and losses with their numbers
};

// What people write who report no failure.
enum class TextKind {
  kNone,
  kQuestion,
  kSource,    // a program that handles errors
  kDocument,  // a proposal, a change of a program, a review, a page of documentation
};

// What of a program's source a text is, whatever its name; only where nothing else stands in it.
enum class ProgramIn { kNone, kPython, kNotebook, kOther };  // other: of whatever other language

// Settings of a job or a list of packages, whatever its name; of what the sample holds.
enum class SettingsIn { kNone, kSettings, kPackages };

inline constexpr std::size_t kSampleFirst = 12'000, kSampleLast = 8'000;

inline constexpr const char* kStandardInput = "standard input";  // the name of what came from a pipe

struct TextFile {
  std::string name;
  std::string encoding;  // "utf-8", "utf-16le", "utf-16be", "latin-1"
  std::int64_t bytes = 0, lines = 0;
  bool complete = true;  // false: a limit ended the reading
  TextLooks looks = TextLooks::kEmpty;
  TextKind kind = TextKind::kNone;
  ProgramIn program = ProgramIn::kNone;
  SettingsIn settings = SettingsIn::kNone;
  bool has_prose = false;  // somebody writes beside what programs printed
  // The first sentence of prose in which something is said to be so, and that no reader made anything of; and the first
  // in which the writer says it of himself.
  std::optional<SourceLine> not_understood, not_understood_of_writer;
  std::int64_t last_not_understood = 0;  // the line of the last such sentence
  std::string
      sample;  // all of a short text, else kSampleFirst bytes of its beginning, a line end, kSampleLast of its end
  friend bool operator==(const TextFile&, const TextFile&) = default;
};

struct Evidence {
  std::vector<TextFile> files;
  std::vector<OomMessage> ooms;
  std::vector<Traceback> tracebacks;
  std::vector<LaunchFailure> launch_failures;
  std::vector<LibraryError> library_errors;
  std::vector<HostKill> host_kills;
  std::vector<ShmError> shm_errors;
  std::vector<SourceLine> oom_mentions;  // prose that speaks of GPU memory that ran out
  std::vector<SourceLine> supposed;      // errors whose own words give want of memory as a possible reason
  std::vector<SourceLine> memory_words;  // of trouble with some memory, whoever says so; not of what is above
  std::vector<ToldSentence> told;        // by people, of memory
  std::vector<SourceLine> other_errors;  // errors by their name or form alone, of whatever kind
  std::vector<MemorySummary> summaries;
  std::vector<GpuStatus> gpu_status;
  std::vector<TrainingLogPoint> training;
  std::vector<ForeignDump> foreign;
  std::vector<HostInfo> host;
  std::vector<SettingSeen> settings;
  std::vector<Remarkable> remarks;
  std::vector<Fact> facts;
  std::map<std::string, std::int64_t> unread;  // input that was kept out, by what it is
  friend bool operator==(const Evidence&, const Evidence&) = default;
};

}  // namespace vramfit::model

#endif
