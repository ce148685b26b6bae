#include "isolate/supervised/services.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <vector>

namespace vramfit::isolate {

namespace {

constexpr std::array<std::string_view, 4> kTables = {"tcp", "tcp6", "udp", "udp6"};
constexpr std::string_view kListening = "0A";  // TCP_LISTEN of net/tcp_states.h

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

struct Socket {
  std::uint16_t port = 0;
  std::uint64_t inode = 0;
};

// "0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 1000 0 12345 ...": proc_net_tcp(5).
std::optional<Socket> socket_of(const std::string& line, bool is_tcp) {
  const auto words = words_of(line);
  if (words.size() < 10 || (is_tcp && words[3] != kListening)) return std::nullopt;
  const std::size_t colon = words[1].rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  Socket socket;
  const auto read = [](std::string_view text, auto& number, int base) {
    return std::from_chars(text.data(), text.data() + text.size(), number, base).ec == std::errc();
  };
  if (!read(std::string_view(words[1]).substr(colon + 1), socket.port, 16)) return std::nullopt;
  if (!read(words[9], socket.inode, 10)) return std::nullopt;
  return socket;
}

template <typename Act>
void for_each_socket(const Services::ReadTable& read, const Act& act) {
  for (const std::string_view table : kTables) {
    std::istringstream lines(read(table));
    for (std::string line; std::getline(lines, line);) {
      if (const auto socket = socket_of(line, table.starts_with("tcp"))) act(*socket);
    }
  }
}

}  // namespace

std::string Services::read_kernel_table(std::string_view name) {
  std::ifstream file(fmt::format("/proc/self/net/{}", name));
  return {std::istreambuf_iterator<char>(file), {}};
}

Services Services::find(const ReadTable& read) {
  Services services;
  for_each_socket(read, [&](const Socket& socket) { services.ports_.emplace(socket.port, socket.inode); });
  // "0000: 00000002 00000000 00010000 0001 01 1234 @/tmp/.X11-unix/X0": a name that begins with @ is abstract.
  std::istringstream lines(read("unix"));
  for (std::string line; std::getline(lines, line);) {
    const auto words = words_of(line);
    if (words.size() == 8 && words[7].starts_with('@')) services.names_.insert(words[7].substr(1));
  }
  return services;
}

bool Services::is_outside(std::uint16_t port, const ReadTable& read) const {
  const auto known = ports_.lower_bound({port, 0});
  if (known == ports_.end() || known->first != port) return false;
  bool is_still_there = false;
  for_each_socket(read, [&](const Socket& socket) {
    is_still_there |= socket.port == port && ports_.contains({port, socket.inode});
  });
  return is_still_there;
}

}  // namespace vramfit::isolate
