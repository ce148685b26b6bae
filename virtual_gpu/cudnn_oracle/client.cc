#include "client.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "library_build.h"

extern char** environ;  // NOLINT: POSIX declares it nowhere

namespace vramfit::cudnn_oracle {
namespace {

// The oracle's environment: this process's, without anything that would put our stand-ins in its way. But cuDNN leaves
// out whole families of engines, the first choice for a third of the convolutions on a real H200, where it finds no
// libcuda or no cublasLt. Both are ours: without a ledger they know of no card, and answer.
std::vector<std::string> oracle_environment(const std::string& preload) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (text.starts_with("LD_PRELOAD=") || text.starts_with("LD_LIBRARY_PATH=") || text.starts_with("VRAMFIT_"))
      continue;
    variables.push_back(text);
  }
  variables.push_back("VRAMFIT_OUTSIDE=1");  // or the recorder puts them back (recorder/keep_card.cc)
  if (!preload.empty()) {
    const auto driver = std::filesystem::path(preload).parent_path() / "libcuda.so.1";
    variables.push_back("LD_PRELOAD=" + preload + ":" + driver.string());
  }
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// What an answer depends on besides the question: which build of cuDNN was asked, and what it finds as cuBLASLt
// and driver. A folder is no build: another version may be installed into it.
std::string asked_build(const std::string& folder, const std::string& preload) {
  const std::filesystem::path lt(preload);
  const std::string cudnn = describe_build(folder, "libcudnn");
  const std::string ours = lt.parent_path().string();
  return (cudnn.empty() ? folder : cudnn) + describe_build(ours, lt.filename().string()) +
         describe_build(ours, "libcuda.so.1");
}

}  // namespace

Client::Client(std::string program, std::string folder, std::string preload, std::string cache_file,
               std::chrono::seconds limit)
    : program_(std::move(program)),
      folder_(std::move(folder)),
      preload_(std::move(preload)),
      cache_file_(std::move(cache_file)),
      limit_(limit) {}

Client::~Client() { stop(); }

void Client::stop() {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  to_ = from_ = -1;
  if (process_ > 0 && owner_ == getpid()) waitpid(process_, nullptr, 0);
  process_ = -1;
}

// Why a frame did not come through, in words. An oracle that is late may be stuck for ever, and one that closed its end
// need not have ended: it is ended, so that nobody waits for it, and the job goes on without.
std::string Client::give_up(const std::string& error, const char* went_away) {
  kill(process_, SIGKILL);
  return error == kLate ? "the cuDNN oracle gave no answer for " + std::to_string(limit_.count()) + " s" : went_away;
}

std::expected<std::string, std::string> Client::hear(const char* went_away) {
  auto frame = read_frame(from_, limit_);
  if (!frame) return std::unexpected(give_up(frame.error(), went_away));
  return frame;
}

std::expected<void, std::string> Client::start() {
  int question_pipe[2], answer_pipe[2];
  if (pipe2(question_pipe, O_CLOEXEC) != 0) return std::unexpected("no pipe for the cuDNN oracle");
  if (pipe2(answer_pipe, O_CLOEXEC) != 0) {
    close(question_pipe[0]);
    close(question_pipe[1]);
    return std::unexpected("no pipe for the cuDNN oracle");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, question_pipe[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, answer_pipe[1], STDOUT_FILENO);
  std::vector<std::string> words{program_, folder_};
  std::vector<std::string> variables = oracle_environment(preload_);
  const int failed =
      posix_spawn(&process_, program_.c_str(), &actions, nullptr, pointers(words).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(question_pipe[0]);
  close(answer_pipe[1]);
  to_ = question_pipe[1];
  from_ = answer_pipe[0];
  owner_ = getpid();
  if (failed != 0) {
    process_ = -1;
    return std::unexpected(program_ + ": " + std::strerror(failed));
  }
  const auto frame = hear("the cuDNN oracle ended at once");
  if (!frame) return std::unexpected(frame.error());
  const auto hello = decode_answer(*frame);
  if (!hello) return std::unexpected(hello.error());
  if (hello->status != 0) return std::unexpected(hello->message);
  return {};
}

std::expected<Answer, std::string> Client::exchange(const std::string& question) {
  const auto written = write_frame(to_, question, limit_);
  if (!written) return std::unexpected(give_up(written.error(), "the cuDNN oracle went away"));
  const auto frame = hear("the cuDNN oracle went away while answering");
  if (!frame) return std::unexpected(frame.error());
  return decode_answer(*frame);
}

void Client::load_cache() {
  cache_loaded_ = true;
  if (cache_file_.empty()) return;
  const int fd = open(cache_file_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  while (true) {  // a torn last pair, from a process killed while writing, ends the reading
    auto key = read_frame(fd);
    if (!key) break;
    auto answer = read_frame(fd);
    if (!answer) break;
    answers_.emplace(std::move(*key), std::move(*answer));
  }
  close(fd);
}

void Client::keep(const std::string& key, const std::string& answer) {
  answers_.emplace(key, answer);
  if (cache_file_.empty()) return;
  const int fd = open(cache_file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return;
  // One write a pair: appends of different processes do not mix.
  const auto key_size = static_cast<uint32_t>(key.size());
  const auto answer_size = static_cast<uint32_t>(answer.size());
  std::string pair(reinterpret_cast<const char*>(&key_size), sizeof key_size);
  pair += key;
  pair.append(reinterpret_cast<const char*>(&answer_size), sizeof answer_size);
  pair += answer;
  // A cache that can't be kept costs time, nothing else.
  [[maybe_unused]] const ssize_t written = write(fd, pair.data(), pair.size());
  close(fd);
}

std::expected<Answer, std::string> Client::ask(const Question& question) {
  const std::scoped_lock lock(mutex_);
  if (!cache_loaded_) load_cache();
  const std::string bytes = encode(question);
  if (build_.empty()) build_ = asked_build(folder_, preload_);
  const std::string key = build_ + '\0' + bytes;
  if (const auto known = answers_.find(key); known != answers_.end()) return decode_answer(known->second);
  if (!refusal_.empty()) return std::unexpected(refusal_);
  if (process_ > 0 && owner_ != getpid()) stop();
  if (process_ <= 0) {
    if (const auto started = start(); !started) {
      refusal_ = started.error();
      stop();
      return std::unexpected(refusal_);
    }
  }
  auto answer = exchange(bytes);
  if (!answer) {
    refusal_ = answer.error();
    stop();
    return answer;
  }
  keep(key, encode(*answer));
  return answer;
}

}  // namespace vramfit::cudnn_oracle
