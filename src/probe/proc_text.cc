#include "probe/proc_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace vramfit::probe {

namespace {

std::optional<std::int64_t> to_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || end == text.data()) return std::nullopt;
  return number;
}

// Takes the text up to `mark` off the front.
std::string_view take_until(std::string_view& text, char mark) {
  const std::size_t at = std::min(text.find(mark), text.size());
  const std::string_view piece = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return piece;
}

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

std::string printable(std::string_view text) {
  std::string shown(text);
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return shown;
}

}  // namespace

std::optional<Stat> parse_stat(std::string_view text) {
  const std::size_t open = text.find('('), close = text.rfind(')');  // the name may hold anything
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  Stat stat{.name = printable(text.substr(open + 1, close - open - 1))};
  std::string_view rest = text.substr(close + 1);
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  // Fields are numbered as in proc(5): the first after the name is 3.
  constexpr int kState = 3, kParent = 4, kStarted = 22, kResident = 24;
  for (int field = kState; field <= kResident; ++field) {
    if (rest.empty()) return std::nullopt;
    const std::string_view word = take_until(rest, ' ');
    if (field == kState && !word.empty()) stat.state = word.front();
    const std::int64_t number = to_number(word).value_or(0);
    if (field == kParent) stat.parent = number;
    if (field == kStarted) stat.started_ticks = number;
    if (field == kResident) stat.resident_pages = number;
  }
  return stat;
}

std::optional<std::int64_t> find_amount(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    if (!line.starts_with(name) || line.substr(name.size()).empty() || line[name.size()] != ':') continue;
    line.remove_prefix(name.size() + 1);
    while (line.starts_with(' ') || line.starts_with('\t')) line.remove_prefix(1);
    const auto number = to_number(line);
    if (!number) return std::nullopt;
    return line.ends_with(" kB") ? *number * 1024 : *number;
  }
  return std::nullopt;
}

std::string parse_command(std::string_view text) {
  std::string command;
  while (!text.empty()) {
    const std::string_view word = take_until(text, '\0');
    if (!command.empty()) command += ' ';
    command += printable(word);
  }
  return command;
}

std::optional<std::string> find_variable(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const std::string_view entry = take_until(environment, '\0');
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return printable(entry.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

namespace {

constexpr std::size_t kContainerDigits = 64, kShownDigits = 12;

// "docker-<64 hex>.scope", "<64 hex>", "cri-containerd-<64 hex>.scope": whatever holds an id of 64 digits.
std::string_view container_in(std::string_view piece) {
  if (piece.ends_with(".scope")) piece.remove_suffix(6);
  if (piece.size() < kContainerDigits) return {};
  const std::string_view id = piece.substr(piece.size() - kContainerDigits);
  return is_hex(id) ? id.substr(0, kShownDigits) : std::string_view();
}

// "kubepods-burstable-pod1234_5678.slice", "pod1234-5678"
std::string pod_in(std::string_view piece) {
  const std::size_t at = piece.starts_with("pod") ? 0 : piece.find("-pod");
  if (at == std::string_view::npos) return {};
  std::string_view uid = piece.substr(piece.find("pod", at) + 3);
  if (uid.ends_with(".slice")) uid.remove_suffix(6);
  std::string pod(uid);
  std::ranges::replace(pod, '_', '-');
  constexpr std::size_t kUidLength = 36;
  return pod.size() >= kUidLength ? pod.substr(0, kUidLength) : pod;
}

void read_path(std::string_view path, Belonging& found) {
  bool in_kubernetes = path.find("kubepods") != std::string_view::npos;
  while (!path.empty()) {
    const std::string_view piece = take_until(path, '/');
    if (const auto id = container_in(piece); !id.empty()) found.container = id;
    if (piece.starts_with("job_") && to_number(piece.substr(4))) found.slurm_job = piece.substr(4);
    if (in_kubernetes && piece.find("pod") != std::string_view::npos && !piece.starts_with("kubepods.")) {
      if (std::string pod = pod_in(piece); !pod.empty() && pod != "s") found.kubernetes_pod = std::move(pod);
    }
    if (piece.starts_with("libpod-") || piece.starts_with("lxc.payload.")) {
      const std::string_view name = piece.substr(piece.starts_with("libpod-") ? 7 : 12);
      if (found.container.empty()) found.container = name.substr(0, kShownDigits);
    }
  }
}

}  // namespace

Belonging parse_belonging(std::string_view cgroups) {
  Belonging found;
  while (!cgroups.empty()) {
    std::string_view line = take_until(cgroups, '\n');
    take_until(line, ':');
    take_until(line, ':');
    read_path(line, found);
  }
  return found;
}

std::optional<MemoryGroup> parse_memory_group(std::string_view cgroups) {
  std::optional<MemoryGroup> found;
  while (!cgroups.empty()) {
    std::string_view line = take_until(cgroups, '\n');
    const std::string_view number = take_until(line, ':');
    std::string_view controllers = take_until(line, ':');
    if (number == "0" && controllers.empty() && !found) found = MemoryGroup{true, std::string(line)};
    while (!controllers.empty()) {
      if (take_until(controllers, ',') == "memory") return MemoryGroup{false, std::string(line)};
    }
  }
  return found;
}

Rank find_rank(std::string_view environment) {
  // torchrun, Slurm, Open MPI, MPICH and Intel MPI.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kNames = {
      {{"RANK", "WORLD_SIZE"},
       {"SLURM_PROCID", "SLURM_NTASKS"},
       {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
       {"PMI_RANK", "PMI_SIZE"}}};
  for (const auto& [rank, size] : kNames) {
    if (auto found = find_variable(environment, rank)) {
      return {std::move(*found), find_variable(environment, size).value_or("")};
    }
  }
  return {};
}

}  // namespace vramfit::probe
