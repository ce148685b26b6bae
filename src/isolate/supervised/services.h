// Services of the machine that were there before the job: a database, a tracking server, a mail daemon. A job without
// the network reaches those of its own alone.
#ifndef VRAMFIT_ISOLATE_SUPERVISED_SERVICES_H
#define VRAMFIT_ISOLATE_SUPERVISED_SERVICES_H

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace vramfit::isolate {

class Services {
 public:
  // Reads a table of /proc/net: "tcp", "tcp6", "udp", "udp6", "unix".
  using ReadTable = std::function<std::string(std::string_view name)>;
  static std::string read_kernel_table(std::string_view name);

  // The services that listen now.
  static Services find(const ReadTable& read = read_kernel_table);

  // Whether what listens at this port of the machine itself is still one of those. A port that the job has taken since
  // is the job's.
  bool is_outside(std::uint16_t port, const ReadTable& read = read_kernel_table) const;
  // The same of a socket with an abstract name, without its leading zero byte.
  bool is_outside(std::string_view abstract_name) const { return names_.contains(std::string(abstract_name)); }

 private:
  std::set<std::pair<std::uint16_t, std::uint64_t>> ports_;  // with the socket's inode
  std::set<std::string> names_;
};

}  // namespace vramfit::isolate

#endif
