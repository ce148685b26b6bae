#include "ingest/text/host_kill.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <utility>

#include "ingest/text/cursor.h"
#include "ingest/text/line_text.h"
#include "ingest/text/printed_size.h"

namespace vramfit::ingest {
namespace {

using model::HostKill;
using model::HostKillKind;

// The word that a shell prints for a process that SIGKILL ended, in the languages of bash.
constexpr std::array<std::string_view, 19> kKilledWords{"Killed",
                                                        "killed",
                                                        "Getötet",
                                                        "已杀死",
                                                        "已终止",
                                                        "強制終了",
                                                        "Убито",
                                                        "Matado",
                                                        "Morto",
                                                        "Zabity",
                                                        "Ucciso",
                                                        "Processus arrêté",
                                                        "Terminado (killed)",
                                                        "Unicestwiony",
                                                        "죽었음",
                                                        "Öldürüldü",
                                                        "Dödad",
                                                        "Zabit",
                                                        "Вбито"};

// ---- the shell ------------------------------------------------------------------------------------------------------

//   Killed   |  Killed: 9  |  zsh: killed     python train.py  |  [1]+  Killed      python train.py
//   train.sh: line 3:  4242 Killed: 9               python train.py  |  50%|##  | 1/2 [00:10<00:10]Killed
std::optional<HostKill> shell_kill(std::string_view text) {
  std::string_view line = trim(text);
  HostKill kill{.kind = HostKillKind::kShell, .signal = 9};
  for (const std::string_view word : kKilledWords) {
    if (line == word || (line.starts_with(word) && line.substr(word.size()) == ": 9")) return kill;
    if (word[0] != 'K' && line.ends_with(word) && line.size() > word.size() + 2) continue;
    // "[00:10<00:10]Killed", "make: *** [Makefile:12: train] Killed", "srun: error: node1: task 0: Killed"
    if (line.ends_with(word) && line.size() > word.size()) {
      const std::string_view before = trim(line.substr(0, line.size() - word.size()));
      if (before.ends_with(']') || before.ends_with('|') || (before.ends_with(':') && before.contains("task")))
        return kill;
    }
    const std::size_t at = line.find(word);
    if (at == kNowhere) continue;
    std::string_view behind = line.substr(at + word.size());
    if (behind.starts_with(": 9")) behind.remove_prefix(3);  // bash of macOS
    if (behind.empty() || !is_blank(behind.front())) continue;
    std::string_view before = trim(line.substr(0, at));
    const std::string_view command = trim(behind);
    if (before.ends_with("zsh:") || before.ends_with("fish:")) {
      kill.process = std::string(command);
      return kill;
    }
    std::size_t digits = before.size();
    while (digits > 0 && is_digit(before[digits - 1])) --digits;
    kill.pid = to_integer(before.substr(digits));
    before = trim(before.substr(0, digits));
    const bool job = before.starts_with('[') && before.size() < 8 &&
                     (before.ends_with(']') || before.ends_with('+') || before.ends_with('-'));
    const bool script = kill.pid && before.ends_with(':') &&
                        (before.contains(": line ") || before.starts_with("line ") || before.contains("行") ||
                         before.contains("ligne") || before.contains("Zeile"));
    if (job || script) {
      kill.process = cut_text(command, 200);
      return kill;
    }
  }
  return std::nullopt;
}

// ---- exit statuses --------------------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 20> kStatusWords{
    "exit code: ",         "exit code = ", "exit code ",    "exitcode: ",   "exitcode  : ",
    "exitcode=",           "exit status ", "exit status: ", "exit code=",   "return code = ",
    "return code: ",       "return code ", "returncode=",   "returncode: ", "exited with code ",
    "exited with status ", "exited with ", "Exited (",      "rc=",          "code="};

// "\"exit_code\": 137" of JSON and YAML is the same name with other signs.
std::string plain_names(std::string_view text) {
  std::string plain(text);
  std::erase(plain, '"');
  for (std::size_t at = plain.find('_'); at != std::string::npos; at = plain.find('_', at + 1)) {
    if (at > 0 && is_letter(plain[at - 1])) plain[at] = ' ';
  }
  for (std::size_t at = plain.find(":137"); at != std::string::npos; at = plain.find(":137", at + 4))
    plain.insert(at + 1, " ");
  return plain;
}

std::optional<HostKill> exit_status(std::string_view raw) {
  const std::string names = plain_names(raw);
  const std::string_view text = names;
  HostKill kill{.kind = HostKillKind::kExitStatus, .signal = 9};
  for (const std::string_view word : kStatusWords) {
    const std::size_t at = find_ignoring_case(text, word == "Exited (" ? "exited (" : word);
    if (at == kNowhere) continue;
    if (contains_ignoring_case(text.substr(0, at), "if ")) return std::nullopt;  // prose: "if it ends with exit code"
    Cursor cursor(text.substr(at + word.size()));
    cursor.skip_blanks();
    if (const auto code = cursor.take_integer(); code == 137 || code == -9) {
      kill.exit_code = static_cast<int>(*code);
      kill.pid = integer_after(text, "(pid: ");
      return kill;
    }
  }
  // "c++: fatal error: Killed signal terminated program cc1plus", "internal compiler error: Killed (program cc1)"
  for (const std::string_view word : {"Killed signal terminated program", "error: Killed (program", "SIGKILL: kill",
                                      "Signals.SIGKILL", "signal SIGKILL", "signal KILL (9)", "(SIGKILL)", "signal 9",
                                      "signal: Killed", "signal: killed", "SIGKILL: 9"}) {
    if (!text.contains(word) || text.contains("DataLoader worker")) continue;
    // What a launcher does to the others is not what happened to the first.
    if (contains_ignoring_case(text, "sending") || contains_ignoring_case(text, "forcefully exiting"))
      return std::nullopt;
    kill.pid = integer_after(text, "PID ");
    return kill;
  }
  return std::nullopt;
}

// ---- the kernel -----------------------------------------------------------------------------------------------------

std::optional<model::PrintedBytes> kilobytes(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == kNowhere) return std::nullopt;
  Cursor cursor(text.substr(at + label.size()));
  const auto count = cursor.take_integer();
  if (!count || *count < 0 || !cursor.take("kB")) return std::nullopt;
  return model::exactly(
      model::held_within_limit(*count > model::kPrintedBytesLimit / kKib ? model::kPrintedBytesLimit : *count * kKib));
}

std::string within_brackets(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == kNowhere) return {};
  Cursor cursor(text.substr(at + label.size()));
  cursor.take_integer();
  if (!cursor.take_word("(")) return {};
  return std::string(cursor.rest().substr(0, cursor.rest().find(')')));
}

std::optional<HostKill> kernel_kill(std::string_view text) {
  const bool cgroup = contains_ignoring_case(text, "memory cgroup out of memory") ||
                      text.contains("CONSTRAINT_MEMCG") || text.contains("killed as a result of limit of");
  const bool killed = text.contains("Killed process ") || text.contains("Kill process ");
  if (!(killed && (text.contains("total-vm:") || contains_ignoring_case(text, "out of memory"))) &&
      !text.contains("oom-kill:constraint=") && !text.contains("invoked oom-killer") &&
      !text.contains("oom_reaper: reaped process") && !text.contains("killed as a result of limit of")) {
    return std::nullopt;
  }
  HostKill kill{.kind = cgroup ? HostKillKind::kCgroup : HostKillKind::kKernel, .signal = 9};
  for (const std::string_view label : {"Killed process ", "Kill process ", "reaped process ", ",pid="}) {
    if (!kill.pid) kill.pid = integer_after(text, label);
    if (kill.process.empty() && label[0] != ',') kill.process = within_brackets(text, label);
  }
  if (const std::size_t task = text.find(",task="); task != kNowhere && kill.process.empty()) {
    kill.process = std::string(text.substr(task + 6, text.find(',', task + 6) - task - 6));
  }
  if (const std::size_t at = text.find(" invoked oom-killer"); at != kNowhere) {
    const std::size_t begin = text.substr(0, at).rfind(' ');
    kill.process =
        std::string(text.substr(begin == kNowhere ? 0 : begin + 1, at - (begin == kNowhere ? 0 : begin + 1)));
  }
  kill.total_vm = kilobytes(text, "total-vm:");
  kill.anon_rss = kilobytes(text, "anon-rss:");
  kill.file_rss = kilobytes(text, "file-rss:");
  kill.shmem_rss = kilobytes(text, "shmem-rss:");
  for (const std::string_view label : {"oom_memcg=", "limit of ", "task_memcg="}) {
    const std::size_t at = text.find(label);
    if (at == kNowhere || !kill.cgroup.empty()) continue;
    kill.cgroup =
        std::string(text.substr(at + label.size(), text.find_first_of(", ", at + label.size()) - at - label.size()));
  }
  return kill;
}

// "memory: usage 1048576kB, limit 1048576kB, failcnt 40"
std::optional<HostKill> cgroup_usage(std::string_view text) {
  if (!text.contains("memory: usage ") || !text.contains("limit ")) return std::nullopt;
  HostKill kill{.kind = HostKillKind::kCgroup};
  kill.usage = kilobytes(text, "usage ");
  kill.limit = kilobytes(text, "limit ");
  if (!kill.usage || !kill.limit) return std::nullopt;
  return kill;
}

// ---- containers, schedulers, daemons
// ---------------------------------------------------------------------------------

struct HostKillSentence {
  std::string_view words;  // lower case
  HostKillKind kind;
};
constexpr std::array<HostKillSentence, 42> kHostKillSentences{{
    {"oomkilled\": true", HostKillKind::kContainer},
    {"oomkilled\":true", HostKillKind::kContainer},
    {"oomkilled=true", HostKillKind::kContainer},
    {"reason: oomkilled", HostKillKind::kContainer},
    {"\"reason\": \"oomkilled", HostKillKind::kContainer},
    {"session crashed after using all available ram", HostKillKind::kContainer},
    {"tried to allocate more memory than is available", HostKillKind::kContainer},
    {"oom-kill event", HostKillKind::kScheduler},
    {"oom_kill event", HostKillKind::kScheduler},
    {"killed by the cgroup out-of-memory handler", HostKillKind::kScheduler},
    {"exceeded job memory limit", HostKillKind::kScheduler},
    {"exceeded step memory limit", HostKillKind::kScheduler},
    {"exceeded memory limit", HostKillKind::kScheduler},
    {"out of memory (oom) killed", HostKillKind::kScheduler},
    {": out of memory", HostKillKind::kScheduler},  // "srun: error: node: task 0: Out Of Memory"
    {"out_of_memory", HostKillKind::kScheduler},
    {"out_of_me+", HostKillKind::kScheduler},  // the same in a column of sacct
    {"term_memlimit", HostKillKind::kScheduler},
    {"pbs: job killed: mem", HostKillKind::kScheduler},
    {"killed by the oom killer", HostKillKind::kDaemon},
    {"result 'oom-kill'", HostKillKind::kDaemon},
    {"systemd-oomd", HostKillKind::kDaemon},
    {"earlyoom", HostKillKind::kDaemon},
    {"badness ", HostKillKind::kDaemon},  // earlyoom's, of whom it ends: "sending SIGTERM to process ..."
    {"low memory! at or below sigkill limits", HostKillKind::kDaemon},
    {"node running low on memory", HostKillKind::kDaemon},
    {"low on resource: memory", HostKillKind::kDaemon},  // Kubernetes, of a pod that it evicts
    {"due to memory pressure", HostKillKind::kDaemon},
    {"std::bad_alloc", HostKillKind::kAllocation},
    {"[errno 12]", HostKillKind::kAllocation},        // "Cannot allocate memory", in whatever language
    {"not enough space", HostKillKind::kAllocation},  // the same of Solaris
    {"status_no_memory", HostKillKind::kAllocation},  // of Windows, and its numbers
    {"0xc0000017", HostKillKind::kAllocation},
    {"-1073741801", HostKillKind::kAllocation},
    {"not enough quota is available to process", HostKillKind::kAllocation},
    {"gone over memory limit", HostKillKind::kContainer},  // HTCondor
    {"lowmemorykiller: kill", HostKillKind::kDaemon},      // Android
    {"the paging file is too small", HostKillKind::kAllocation},
    {"[winerror 1455]", HostKillKind::kAllocation},  // the same, in whatever language Windows speaks
    {"[winerror 8]", HostKillKind::kAllocation},
    {"running beyond physical memory limits", HostKillKind::kContainer},  // YARN
    {"fork: cannot allocate memory", HostKillKind::kAllocation},
}};

// What C++ throws for the host's memory, libraries of CUDA throw for the card's: RMM, Thrust.
bool is_of_card(std::string_view text) {
  return contains_ignoring_case(text, "cuda") || contains_ignoring_case(text, "rmm") ||
         contains_ignoring_case(text, "out_of_memory") || text.contains("temporary_buffer") ||
         contains_ignoring_case(text, "gpu") || contains_ignoring_case(text, "vram") ||
         contains_ignoring_case(text, "on device") || text.contains("hipE") || text.contains("HIP ");
}

// A sentence that reads the same in the logs of other things.
bool is_meant(const HostKillSentence& sentence, std::string_view text) {
  if (sentence.words == ": out of memory") return text.contains("srun: error") && text.contains("task");
  if (sentence.words == "out_of_memory")
    return contains_ignoring_case(text, "state") || trim(text).starts_with("OUT_OF_ME");
  if (sentence.words == "systemd-oomd") return contains_ignoring_case(text, "killed");
  if (sentence.words == "earlyoom" || sentence.words == "badness ") return contains_ignoring_case(text, "sending sig");
  if (sentence.words == "std::bad_alloc") return !is_of_card(text);
  if (sentence.words == "not enough space") return text.contains("mmap") || text.contains("fork");
  if (sentence.words == "exceeded memory limit")
    return contains_ignoring_case(text, "job") || contains_ignoring_case(text, "step");
  return true;
}

std::optional<HostKill> sentence_kill(std::string_view text) {
  std::string plain;  // "Reason:       OOMKilled"
  for (const char letter : text) {
    if (!is_blank(letter) || !plain.ends_with(' ')) plain += letter == '\t' ? ' ' : letter;
  }
  for (const HostKillSentence& sentence : kHostKillSentences) {
    if (!contains_ignoring_case(plain, sentence.words) || !is_meant(sentence, plain)) continue;
    HostKill kill{.kind = sentence.kind};
    if (const auto limits = plain.find("memory limit (");
        limits != kNowhere) {  // "exceeded memory limit (1234 > 1000)", KiB
      Cursor cursor(std::string_view(plain).substr(limits + 14));
      const auto used = cursor.take_integer();
      if (used && cursor.take(" > ")) {
        const auto limit = cursor.take_integer();
        if (limit && *used < (1LL << 50) && *limit < (1LL << 50)) {
          kill.usage = model::exactly(base::Bytes(*used * kKib));
          kill.limit = model::exactly(base::Bytes(*limit * kKib));
        }
      }
    }
    return kill;
  }
  return std::nullopt;
}

// "Container killed by YARN for exceeding memory limits. 11.2 GB of 11 GB physical memory used", "Memory limit exceeded
// (16Gi)", "task exceeded its memory reservation": of something that runs on a host and has a bound there.
std::optional<HostKill> limit_kill(std::string_view text) {
  const bool is_told = contains_ignoring_case(text, "exceed") && contains_ignoring_case(text, "memory") &&
                       contains_any(text, {"limit", "quota", "reservation", "memory budget"});
  if (!is_told || is_of_card(text) ||
      contains_any(text, {"device", "pool", "if ", "may ", "might ", "would ", "time limit"}))
    return std::nullopt;
  const bool is_by_itself =
      contains_any(text, {"memory limit exceeded", "memory quota exceeded"}) ||
      (contains_ignoring_case(text, "memory limit of ") && contains_ignoring_case(text, " exceeded"));
  if (!is_by_itself &&
      !contains_any(text, {"container", "job", "task", "pod ", "worker", "instance", "function", "executor"}))
    return std::nullopt;
  return HostKill{.kind = HostKillKind::kContainer};
}

// "DataLoader worker (pid 4242) is killed by signal: Killed.", without the number as people quote it, and "(pid(s) 1,
// 2) exited unexpectedly"
std::optional<HostKill> worker_kill(std::string_view text) {
  std::size_t at = text.find("DataLoader worker (pid");
  if (at == kNowhere) at = text.find("DataLoader worker is killed");
  if (at == kNowhere) return std::nullopt;
  const std::string_view rest = text.substr(at);
  if (!rest.contains("signal: Killed") && !rest.contains("exited unexpectedly")) return std::nullopt;
  // A code of its own is Python's: an exception, or sys.exit.
  const auto code = integer_after(rest, "exit code ");
  if (code && *code != 137 && *code != -9 && *code != 9) return std::nullopt;
  HostKill kill{.kind = HostKillKind::kDataWorker};
  if (rest.contains("signal: Killed")) kill.signal = 9;
  kill.pid = rest.contains("pid(s)") ? integer_after(rest, "pid(s) ") : integer_after(rest, "(pid ");
  return kill;
}

// numpy's "Unable to allocate 12.3 GiB for an array with shape", OpenCV's "(-4:Insufficient memory) Failed to allocate
// 4588800 bytes", and a bare MemoryError
std::optional<HostKill> refused(std::string_view text) {
  HostKill kill{.kind = HostKillKind::kAllocation};
  if (text.contains("Unable to allocate ") && text.contains("for an array")) {
    kill.usage = size_after(text, "Unable to allocate ", Rounding::kNearest);
    return kill;
  }
  constexpr std::string_view kOpenCv = "(-4:Insufficient memory) Failed to allocate ";
  if (const std::size_t at = text.find(kOpenCv); at != kNowhere) {
    const auto bytes = Cursor(text.substr(at + kOpenCv.size())).take_integer();
    if (!bytes || *bytes > (1LL << 40)) return std::nullopt;  // such sizes are computed wrongly
    kill.usage = model::exactly(base::Bytes(*bytes));
    return kill;
  }
  const std::string_view line = trim(text);
  if (line == "MemoryError" || (line.starts_with("MemoryError:") && !is_of_card(line))) return kill;
  return std::nullopt;
}

// memory.events and /proc/vmstat: "oom 5" "oom_kill 3", one a line; the lines above are in `before`.
std::optional<HostKill> counters(const LogLine& line) {
  Cursor cursor(trim(line.text));
  const bool kill_line = cursor.take("oom_kill ");
  const auto count = cursor.take_integer();
  if (!kill_line || !count || !cursor.at_end()) return std::nullopt;
  HostKill kill{.kind = HostKillKind::kMemoryEvents};
  kill.counters["oom_kill"] = *count;
  for (Cursor above(line.before); !above.at_end();) {
    Cursor one(trim(above.take_until("\n")));
    const std::string_view name = one.take_while(is_word);
    one.skip_blanks();
    const auto value = one.take_integer();
    const bool known = name == "low" || name == "high" || name == "max" || name == "oom";
    if (known && value && one.at_end()) kill.counters[std::string(name)] = *value;
  }
  return kill;
}

class HostKillReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    auto kill = parse_host_kill(line.text);
    if (!kill && line.text.size() < line.whole.size())
      kill = parse_host_kill(line.whole);  // "[1]+ Killed" is no prefix
    if (!kill) kill = counters(line);
    if (line.text.contains("bad_alloc") && is_of_card(line.text)) cards_was_told_ = true;
    if (!kill ||
        (kill->kind == HostKillKind::kAllocation && cards_was_told_ && trim(line.text).starts_with("MemoryError")))
      return;
    kill->at = sink.at(line);
    kill->speaker = line.speaker;
    sink.add(sink.evidence().host_kills, std::move(*kill), "signs of a full host");
  }

 private:
  bool cards_was_told_ = false;  // RMM's error was: a MemoryError without words is Python's name for the same one
};

constexpr auto kHostKillWords = std::to_array<std::string_view>({"killed",
                                                                 "getötet",
                                                                 "已杀死",
                                                                 "已终止",
                                                                 "強制終了",
                                                                 "бито",
                                                                 "matado",
                                                                 "morto",
                                                                 "zabit",
                                                                 "nicestwiony",
                                                                 "죽었음",
                                                                 "ldürüldü",
                                                                 "dödad",
                                                                 "(killed)",
                                                                 "[errno 12]",
                                                                 "enough space",
                                                                 "status_no_memory",
                                                                 "0xc0000017",
                                                                 "-1073741801",
                                                                 "enough quota",
                                                                 "lowmemorykiller",
                                                                 "signal kill",
                                                                 "ucciso",
                                                                 "arrêté",
                                                                 "sigkill",
                                                                 "signal 9",
                                                                 "kill process",
                                                                 "oom-killer",
                                                                 "oom-kill",
                                                                 "oom_kill",
                                                                 "oom_reaper",
                                                                 "memory: usage",
                                                                 "memory limit",
                                                                 "out_of_me",
                                                                 "out of memory",
                                                                 "term_memlimit",
                                                                 "exceeding memory",
                                                                 "exceeded its memory",
                                                                 "memory quota",
                                                                 "memory budget",
                                                                 "session crashed",
                                                                 "more memory than",
                                                                 "bad_alloc",
                                                                 "cannot allocate",
                                                                 "paging file",
                                                                 "earlyoom",
                                                                 "badness ",
                                                                 "[winerror ",
                                                                 "physical memory limits",
                                                                 "running low on memory",
                                                                 "resource: memory",
                                                                 "memory pressure",
                                                                 "exited unexpectedly",
                                                                 "memoryerror",
                                                                 "unable to allocate",
                                                                 "sigkill limits",
                                                                 "de 137",
                                                                 "us 137",
                                                                 "ed 137",
                                                                 "s: 137",
                                                                 "e: 137",
                                                                 "\": 137",
                                                                 "\":137",
                                                                 "e:137",
                                                                 "de=137",
                                                                 "rc=137",
                                                                 "= 137",
                                                                 "(137)",
                                                                 "   137",
                                                                 "de: -9",
                                                                 "ode -9",
                                                                 "tus -9",
                                                                 "ode=-9",
                                                                 " : -9",
                                                                 "-oomd",
                                                                 "e = -9"});

}  // namespace

std::optional<HostKill> parse_host_kill(std::string_view text) {
  using Parse = std::optional<HostKill> (*)(std::string_view);
  for (const Parse parse :
       {kernel_kill, cgroup_usage, worker_kill, sentence_kill, limit_kill, exit_status, shell_kill, refused}) {
    if (auto kill = parse(text)) return kill;
  }
  return std::nullopt;
}

const TextFormat kHostKillFormat{"host_kill", kHostKillWords,
                                 [] { return std::unique_ptr<TextReader>(new HostKillReader); }};

}  // namespace vramfit::ingest
