#include "job/zygote.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/interrupt.h"
#include "base/job_control.h"
#include "base/json_text.h"
#include "ingest/warm_answer.h"
#include "isolate/descriptors.h"
#include "job/asked_json.h"

namespace vramfit::job {

using base::ErrorCode;
using base::Result;
using model::told::WarmAnswer;
namespace asked = model::asked;

Zygote::Zygote(Zygote&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      socket_(std::move(other.socket_)),
      received_(std::move(other.received_)),
      last_id_(other.last_id_),
      answers_(std::move(other.answers_)) {}

Zygote::~Zygote() {
  socket_.close();  // it ends by itself when its socket does
  constexpr double kGraceSeconds = 0.5;
  if (process_ > 0) base::end_process(process_, kGraceSeconds);
}

namespace {

// -c puts the current folder first on the path, and -m would: a json.py in it would be taken for Python's own. A
// script's own folder takes that place when it is run.
constexpr std::string_view kStart =
    "import sys; sys.path[0] = sys.path[0] or sys.path[1]; from vramfit import zygote; zygote.main()";

}  // namespace

Result<Zygote> Zygote::start(const PythonCommand& command, const base::Environment& environment) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return base::fail_errno("cannot make a socket pair");
  base::FileDescriptor ours(ends[0]);
  const base::FileDescriptor theirs(ends[1]);
  base::Launch launch;
  launch.argv = {command.python};
  launch.argv.insert(launch.argv.end(), command.flags.begin(), command.flags.end());
  for (const std::string& word : {std::string("-c"), std::string(kStart), std::to_string(theirs.number())}) {
    launch.argv.push_back(word);
  }
  launch.environment = environment;
  launch.output = "/dev/null";
  launch.inherited_fd = theirs.number();
  const auto process = base::start_process(launch);
  if (!process) return std::unexpected(process.error());
  return Zygote(*process, std::move(ours));
}

Result<Zygote> Zygote::join(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return base::fail(ErrorCode::kUsage, "the path of the warm process is too long for a socket", path);
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  base::FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return base::fail_errno("the warm process can't be reached", path);
  }
  return Zygote(-1, std::move(socket));
}

std::optional<std::string> shared_zygote() {
  const char* path = std::getenv("VRAMFIT_WARM");
  return path != nullptr && *path != 0 ? std::optional<std::string>(path) : std::nullopt;
}

Result<std::string> Zygote::read_line(const base::Tick& tick, std::optional<double> limit_seconds) {
  const std::int64_t start = base::awake_clock().now_ns();
  while (true) {
    if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    const double seconds = base::seconds_between(start, base::awake_clock().now_ns());
    if (base::take_interrupt() != 0) return base::fail(ErrorCode::kInterrupted, "interrupted");
    if (limit_seconds && seconds > *limit_seconds)
      return base::fail(ErrorCode::kTimedOut, "the warm process does not answer");
    if (tick) tick(seconds);
    pollfd waiting{socket_.number(), POLLIN, 0};
    if (poll(&waiting, 1, 250) <= 0) continue;
    char buffer[4096];
    const ssize_t got = ::read(socket_.number(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return base::fail(ErrorCode::kSystem, "the warm Python process ended unexpectedly");
    received_.append(buffer, static_cast<std::size_t>(got));
  }
}

namespace {

std::string request_line(const ZygoteJob& job, int id, bool is_shared) {
  asked::WarmRequest request{.id = id, .argv = job.command.argv, .cwd = job.folder};
  request.env = {job.environment.begin(), job.environment.end()};
  request.stdin_path = job.input;
  request.stdout_path = request.stderr_path = job.output;
  request.run_as = job.command.is_module ? asked::RunAs::kModule : asked::RunAs::kScript;
  request.timeout = job.timeout_seconds;
  request.patience = job.patient_seconds;
  request.grace = job.grace_seconds;
  if (!job.layer.empty()) request.layer = {.library = job.layer_library, .spec = job.layer};
  if (is_shared) request.shared = {.python = job.command.python, .flags = job.command.flags};
  return base::json_line(write(request)) + "\n";
}

bool send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

// The open files are sent with the first byte of a request, so that they are there before it ends.
bool send_request(int socket, std::string_view line, bool has_our_streams) {
  if (!has_our_streams) return send_all(socket, line);
  const auto sent = isolate::send_parcel(socket, std::string(line.substr(0, 1)), {0, 1, 2});
  return sent && send_all(socket, line.substr(1));
}

}  // namespace

Result<WarmAnswer> Zygote::read_answer(int id, const base::Tick& tick, std::optional<double> limit_seconds) {
  while (true) {
    if (auto known = answers_.extract(id)) return std::move(known.mapped());
    const auto line = read_line(tick, limit_seconds);
    if (!line) return std::unexpected(line.error());
    WarmAnswer answer = ingest::read_warm_answer(*line);
    if (answer.id <= 0 || answer.id > last_id_) {
      return base::fail(ErrorCode::kCorrupt, "the warm Python process gave an answer that makes no sense: " + *line);
    }
    answers_.insert_or_assign(answer.id, std::move(answer));
  }
}

Result<base::Ended> Zygote::run(const ZygoteJob& job, const base::Tick& tick) {
  const auto id = start(job);
  if (!id) return std::unexpected(id.error());
  return wait(*id, job, tick);
}

Result<int> Zygote::start(const ZygoteJob& job) {
  const int id = ++last_id_;
  if (!send_request(socket_.number(), request_line(job, id, is_shared()), job.has_our_streams))
    return base::fail_errno("the warm Python process takes no jobs");
  return id;
}

Result<base::Ended> Zygote::wait(int id, const ZygoteJob& job, const base::Tick& tick) {
  // The zygote ends a job that reaches its time limit. This limit is for a zygote that is stuck itself.
  constexpr double kGraceSeconds = 30;
  constexpr double kMostPatience = 5;  // times what it would be alone: python/vramfit/zygote.py counts no more waiting
  std::optional<double> limit;
  if (job.patient_seconds) limit = *job.patient_seconds * kMostPatience + kGraceSeconds;
  if (job.timeout_seconds) limit = std::min(limit.value_or(1e9), *job.timeout_seconds + kGraceSeconds);
  const auto answer = read_answer(id, tick, limit);
  if (!answer) return std::unexpected(answer.error());
  if (answer->unsuitable) return base::fail(ErrorCode::kUnsupported, *answer->unsuitable);
  if (answer->refused) return base::fail(ErrorCode::kSystem, *answer->refused);
  base::Ended ended;
  if (answer->exit_code) ended.exit_code = static_cast<int>(*answer->exit_code);
  if (answer->signal) ended.signal = static_cast<int>(*answer->signal);
  if (!ended.exit_code && !ended.signal) ended.exit_code = 1;
  ended.timed_out = answer->timed_out;
  ended.wall_seconds = answer->wall_seconds;
  ended.waited_seconds = answer->waited_seconds;
  ended.cpu_seconds = answer->cpu_seconds;
  ended.peak_resident_bytes = answer->maxrss * 1024;
  return ended;
}

}  // namespace vramfit::job
