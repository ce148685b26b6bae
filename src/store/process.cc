#include "store/process.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <sstream>

#include "base/file.h"

namespace vramfit::store {

namespace {

std::string read_boot() {
  std::string boot = base::read_file("/proc/sys/kernel/random/boot_id").value_or("");
  while (!boot.empty() && boot.back() == '\n') boot.pop_back();
  return boot;
}

// Field 22 of /proc/PID/stat, counted behind the name, which may itself hold spaces and brackets. 0: no such process.
std::int64_t read_began(std::int64_t id) {
  const auto stat = base::read_file("/proc/" + std::to_string(id) + "/stat");
  if (!stat) return 0;
  std::istringstream words(stat->substr(stat->rfind(')') + 1));
  std::string word;
  constexpr int kFieldsAfterName = 20;
  for (int i = 0; i < kFieldsAfterName; ++i) words >> word;
  return std::strtoll(word.c_str(), nullptr, 10);
}

std::string read_host() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

ProcessIdentity current_process() { return {::getpid(), read_began(::getpid()), read_boot(), read_host()}; }

bool may_live(const ProcessIdentity& process) {
  if (process.host != read_host()) return true;
  return process.boot == read_boot() && read_began(process.id) == process.began;
}

}  // namespace vramfit::store
