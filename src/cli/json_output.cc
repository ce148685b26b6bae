#include "cli/json_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/file.h"

namespace vramfit::cli {

using base::Result;

namespace {

Result<void> write_all(int file, const std::string& text) {
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t now = ::write(file, text.data() + written, text.size() - written);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return base::fail_errno("the JSON could not be written", "stdout", "");
    written += static_cast<std::size_t>(now);
  }
  return {};
}

}  // namespace

JsonOutput::JsonOutput(std::string file) : file_(std::move(file)) {
  if (file_ != "-") return;
  std::fflush(stdout);
  own_stdout_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (own_stdout_ >= 0) ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

JsonOutput::~JsonOutput() {
  if (own_stdout_ < 0) return;
  std::fflush(stdout);
  ::dup2(own_stdout_, STDOUT_FILENO);
  ::close(own_stdout_);
}

Result<void> JsonOutput::write(const std::string& json) {
  if (file_.empty()) return {};
  return file_ == "-" ? write_all(own_stdout_ >= 0 ? own_stdout_ : STDOUT_FILENO, json) : base::write_file(file_, json);
}

}  // namespace vramfit::cli
