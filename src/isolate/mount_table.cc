#include "isolate/mount_table.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>

namespace vramfit::isolate {

namespace {

// "\040" is a space: mountinfo writes blanks, tabs, line ends and backslashes so.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    const bool escaped = text[i] == '\\' && i + 3 < text.size() &&
                         std::from_chars(text.data() + i + 1, text.data() + i + 4, code, 8).ptr == text.data() + i + 4;
    plain += escaped ? static_cast<char>(code) : text[i];
    if (escaped) i += 3;
  }
  return plain;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

bool has_option(std::string_view options, std::string_view wanted) {
  while (!options.empty()) {
    const std::size_t end = std::min(options.find(','), options.size());
    if (options.substr(0, end) == wanted) return true;
    options.remove_prefix(std::min(end + 1, options.size()));
  }
  return false;
}

// "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard"
bool parse_line(std::string_view line, Mount& mount) {
  const std::vector<std::string_view> words = words_of(line);
  const auto dash = std::find(words.begin(), words.end(), "-");
  if (words.size() < 6 || words.end() - dash < 4) return false;
  if (std::from_chars(words[0].data(), words[0].data() + words[0].size(), mount.id).ec != std::errc()) return false;
  mount.point = unescape(words[4]);
  mount.type = dash[1];
  mount.read_only = has_option(words[5], "ro") || has_option(dash[3], "ro");
  return true;
}

std::uint64_t mount_at(const std::string& path) {
  struct statx found {};
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_MNT_ID, &found) != 0) return 0;
  return found.stx_mnt_id;
}

}  // namespace

std::vector<Mount> parse_mounts(std::string_view text) {
  std::vector<Mount> mounts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    Mount mount;
    if (parse_line(text.substr(0, end), mount)) mounts.push_back(std::move(mount));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return mounts;
}

std::vector<Mount> visible_mounts() {
  std::ifstream file("/proc/self/mountinfo");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<Mount> mounts = parse_mounts(text);
  std::erase_if(mounts, [](const Mount& mount) { return mount_at(mount.point) != mount.id; });
  return mounts;
}

bool is_kernel_interface(std::string_view type) {
  static constexpr std::array<std::string_view, 20> kTypes = {
      "proc",    "sysfs",       "cgroup",     "cgroup2",    "devpts",   "devtmpfs", "mqueue",
      "debugfs", "tracefs",     "bpf",        "pstore",     "configfs", "fusectl",  "nsfs",
      "autofs",  "binfmt_misc", "rpc_pipefs", "securityfs", "efivarfs", "hugetlbfs"};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

bool lies_below(std::string_view path, std::string_view folder) {
  if (folder == "/") return path.size() > 1;
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

}  // namespace vramfit::isolate
