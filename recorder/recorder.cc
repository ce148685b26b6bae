#include "recorder.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "kernel_tally.h"

namespace vramfit::recorder {

namespace {

constexpr size_t kDefaultLimit = 2ull << 30;

// The thread's id, asked once a thread; a forked child's only thread has a new one.
thread_local uint32_t cached_thread = 0;

uint32_t this_thread() {
  if (cached_thread == 0) cached_thread = static_cast<uint32_t>(syscall(SYS_gettid));
  return cached_thread;
}

thread_local uint32_t inherited_line = 0;

constinit std::mutex start_lock;
constinit std::atomic<Recorder*> current{nullptr};
constinit std::atomic<bool> started{false};
constinit Position the_position;

void before_fork() {
  start_lock.lock();
  kernel_tally().before_fork();
}

void after_fork_in_parent() {
  kernel_tally().after_fork(false);
  start_lock.unlock();
}

void after_fork_in_child() {
  start_lock.unlock();
  // Never deleted: another thread of the parent may have held one of its locks at the fork.
  if (Recorder* parents = current.exchange(nullptr)) parents->abandon();
  started.store(false);
  cached_thread = 0;
  inherited_line = 0;
  the_position.reset();
  kernel_tally().after_fork(true);
}

Recorder* start() {
  const std::lock_guard guard(start_lock);
  if (started.load()) return current.load();
  static bool watching_forks = false;
  if (!watching_forks) {
    watching_forks = true;
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  }
  const char* folder = std::getenv(VF_ENV_RUN_DIR);
  if (folder != nullptr && *folder != '\0') {
    current.store(new Recorder(folder, record_limit(std::getenv("VRAMFIT_RECORD_LIMIT"))));
  }
  started.store(true);
  return current.load();
}

std::string file_in(const std::string& folder, const char* name, const char* suffix) {
  return folder + "/" + name + "." + std::to_string(getpid()) + suffix;
}

}  // namespace

void Position::reset() {
  phase = VF_PHASE_LOAD;
  stage = VF_STAGE_OTHER;
  scope = 0;
  line = 0;
  backward_line = 0;
}

Position& position() { return the_position; }

Recorder* recorder() {
  if (started.load(std::memory_order_acquire)) return current.load(std::memory_order_acquire);
  return start();
}

size_t record_limit(const char* text) {
  if (text == nullptr) return kDefaultLimit;
  char* end = nullptr;
  const unsigned long long bytes = std::strtoull(text, &end, 10);
  return end == text || *end != '\0' || bytes == 0 ? kDefaultLimit : static_cast<size_t>(bytes);
}

Recorder::Recorder(const std::string& folder, size_t limit_bytes)
    : records_(file_in(folder, "recording", ".vfr"), limit_bytes),
      strings_(file_in(folder, "strings", ".txt")),
      lines_([this](std::string_view text) { return strings_.intern(text); }),
      notes_(file_in(folder, "notes", ".jsonl"), AppendFile::Start::kContinue) {}

uint32_t Recorder::intern(std::string_view text) { return text.empty() ? 0 : strings_.intern(text); }

uint32_t Recorder::own_line() {
  if (const uint32_t known = the_position.line.load(std::memory_order_relaxed)) return known;
  if (const uint32_t found = lines_.find(Whose::kUsers)) return found;
  if (inherited_line != 0) return inherited_line;
  if (the_position.stage.load(std::memory_order_relaxed) == VF_STAGE_BACKWARD) {
    if (const uint32_t line = the_position.backward_line.load(std::memory_order_relaxed)) return line;
  }
  return lines_.find(Whose::kPackage);
}

uint32_t Recorder::inherit_line(uint32_t line) { return std::exchange(inherited_line, line); }

void Recorder::add(vf_record record, Line line) {
  if (said_.load(std::memory_order_relaxed)) return;
  record.phase = the_position.phase.load(std::memory_order_relaxed);
  record.stage = the_position.stage.load(std::memory_order_relaxed);
  record.scope = the_position.scope.load(std::memory_order_relaxed);
  if (line == Line::kFind) record.line = own_line();
  record.thread = this_thread();
  record.at_ns = monotonic_ns() - records_.started_at_ns();
  if (!records_.append(record)) say_stopped();
}

void Recorder::note(std::string_view json) {
  std::string line(json);
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  line += '\n';
  const std::lock_guard guard(notes_lock_);
  notes_.append(line);
}

void Recorder::say_stopped() {
  if (said_.exchange(true)) return;
  const bool limit = records_.why_stopped() == RecordFile::Stopped::kLimit;
  const std::string why = limit ? "the recording reached VRAMFIT_RECORD_LIMIT"
                                : std::string("the recording can't be written: ") + strerror(records_.error());
  const std::string message = "vramfit: " + why + "; the job goes on, but events from here on are missing\n";
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, message.data(), message.size());
  note(R"({"kind":"recording_stopped","text":")" + why + "\"}");
}

void Recorder::abandon() {
  records_.abandon();
  strings_.abandon();
  notes_.close_quietly();
}

}  // namespace vramfit::recorder
