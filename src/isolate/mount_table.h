// What is mounted where: /proc/self/mountinfo (proc(5)) as plain values.
#ifndef VRAMFIT_ISOLATE_MOUNT_TABLE_H
#define VRAMFIT_ISOLATE_MOUNT_TABLE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit::isolate {

struct Mount {
  std::uint64_t id = 0;
  std::string point;  // absolute, unescaped
  std::string type;   // "ext4"
  bool read_only = false;
  friend bool operator==(const Mount&, const Mount&) = default;
};

// The mounts in the order of the text: what is mounted later lies on top. Lines that make no sense are left out.
std::vector<Mount> parse_mounts(std::string_view text);

// The mounts of this process that a path can reach: no other one covers them.
std::vector<Mount> visible_mounts();

// The kernel's own interfaces (proc, sysfs, cgroup2 ...): nothing there is a user's file.
bool is_kernel_interface(std::string_view type);

// "/a/b" lies below "/a" and below "/", not below "/a/b" itself.
bool lies_below(std::string_view path, std::string_view folder);

}  // namespace vramfit::isolate

#endif
