#include "job/orphaned_jobs.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/parse_number.h"

namespace vramfit::job {

namespace fs = std::filesystem;

namespace {

// Variables end with a zero each.
bool has_variable(const fs::path& environment, const std::string& wanted) {
  std::ifstream file(environment, std::ios::binary);
  const std::string text = '\0' + std::string(std::istreambuf_iterator<char>(file), {});
  return text.find('\0' + wanted + '\0') != std::string::npos;
}

}  // namespace

int end_processes_of(const fs::path& run_folder) {
  int ended = 0;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator("/proc", problem)) {
    const std::string name = entry.path().filename().string();
    const auto process = base::parse_number<pid_t>(name);
    if (!process || *process == ::getpid()) continue;
    // Before the environment is read: the number may be another's by the time that it is ended.
    const base::FileDescriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, *process, 0)));
    if (!handle || !has_variable(entry.path() / "environ", "VRAMFIT_RUN_DIR=" + run_folder.string())) continue;
    ended += ::syscall(SYS_pidfd_send_signal, handle.number(), SIGKILL, nullptr, 0) == 0 ? 1 : 0;
  }
  return ended;
}

}  // namespace vramfit::job
