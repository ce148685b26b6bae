#include "tui/watch_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/bytes.h"
#include "base/letters.h"
#include "report/watch_time.h"

namespace vramfit::tui {

using base::Bytes;
using model::Reading;

namespace {

// What a driver keeps for itself without saying so; anything above is worth a word.
constexpr std::int64_t kWorthSaying = std::int64_t{64} << 20;

std::string bytes_text(const Reading& reading) { return reading ? base::to_string(Bytes(*reading)) : "-"; }

std::string number_text(const Reading& reading, std::string_view unit) {
  return reading ? fmt::format("{}{}", *reading, unit) : "-";
}

std::string watts_text(const Reading& power, const Reading& limit) {
  if (!power) return "-";
  const auto watts = [](std::int64_t milliwatts) { return (milliwatts + 500) / 1000; };
  return limit ? fmt::format("{}/{} W", watts(*power), watts(*limit)) : fmt::format("{} W", watts(*power));
}

// "GPU-1d2f3a4b" of the whole UUID, with its last digits where two cards begin alike; a virtual card is named by its
// session.
std::string short_id(const model::CardReading& card, const model::MachineSample& sample) {
  const std::string_view uuid = card.uuid;
  const std::size_t digits = uuid.find('-') == std::string_view::npos ? 0 : uuid.find('-') + 1;
  std::string front(uuid.substr(0, digits + 8));
  const auto alike = std::ranges::count_if(sample.cards, [&](const auto& one) { return one.uuid.starts_with(front); });
  constexpr std::size_t kTail = 4;
  if (alike > 1 && uuid.size() > front.size() + kTail) front += "..." + std::string(uuid.substr(uuid.size() - kTail));
  return card.session.empty() ? front
                              : fmt::format("virtual, session {}", card.session.substr(0, card.session.find('-')));
}

std::string link_text(const model::CardReading& card) {
  std::vector<std::string> pieces;
  if (card.sm_clock_mhz) {
    pieces.push_back(card.max_sm_clock_mhz ? fmt::format("{}/{} MHz", *card.sm_clock_mhz, *card.max_sm_clock_mhz)
                                           : fmt::format("{} MHz", *card.sm_clock_mhz));
  }
  if (card.pcie_generation && card.pcie_width) {
    pieces.push_back(fmt::format("PCIe {} x{}", *card.pcie_generation, *card.pcie_width));
  }
  if (card.pcie_received_bytes_per_second && card.pcie_sent_bytes_per_second) {
    pieces.push_back(fmt::format("in {}/s out {}/s", bytes_text(card.pcie_received_bytes_per_second),
                                 bytes_text(card.pcie_sent_bytes_per_second)));
  }
  if (card.nvlinks && card.nvlinks_up) pieces.push_back(fmt::format("NVLink {}/{}", *card.nvlinks_up, *card.nvlinks));
  if (card.ecc_corrected && card.ecc_uncorrected) {
    pieces.push_back(fmt::format("ECC {}/{}", *card.ecc_corrected, *card.ecc_uncorrected));
  }
  if (card.performance_state) pieces.push_back(fmt::format("P{}", *card.performance_state));
  if (card.fan_percent) pieces.push_back(fmt::format("fan {} %", *card.fan_percent));
  if (card.peak_used_bytes) pieces.push_back("peak " + bytes_text(card.peak_used_bytes));
  return fmt::format("{}", fmt::join(pieces, "  "));
}

std::vector<Remark> card_remarks(const model::CardReading& card) {
  std::vector<Remark> remarks;
  if (!card.problem.empty()) remarks.push_back({Level::kBad, card.problem});
  if (card.mig_mode.value_or(0) != 0) remarks.push_back({Level::kQuiet, "MIG: divided into slices"});
  if (card.throttle_reasons) {
    const auto words = model::throttle_words(*card.throttle_reasons);
    if (!words.empty())
      remarks.push_back({Level::kNote, fmt::format("clocks held down by {}", fmt::join(words, ", "))});
  }
  if (card.ecc_uncorrected.value_or(0) > 0) {
    remarks.push_back({Level::kBad, fmt::format("{} uncorrected memory errors", *card.ecc_uncorrected)});
  }
  if (card.unexplained_bytes.value_or(0) > kWorthSaying) {
    remarks.push_back(
        {Level::kNote, fmt::format("{} used by no process that the driver shows", bytes_text(card.unexplained_bytes))});
  }
  if (card.problem.empty() && !card.unexplained_bytes &&
      card.unexplained_bytes.why() == model::Absence::kNoPermission) {
    remarks.push_back({Level::kNote, "no permission to see its processes"});
  }
  return remarks;
}

CardView view_of(const model::CardReading& card, const model::MachineSample& sample) {
  CardView view{.uuid = card.uuid, .index = label_of(card, sample), .name = card.name, .id = short_id(card, sample)};
  view.is_slice = !card.parent.empty();
  view.is_lost = !card.problem.empty();
  if (view.name.empty()) view.name = "unknown card";
  if (card.used_bytes && card.total_bytes && *card.total_bytes > 0) {
    view.fraction = static_cast<double>(*card.used_bytes) / static_cast<double>(*card.total_bytes);
  }
  view.used = bytes_text(card.used_bytes);
  view.total = bytes_text(card.total_bytes);
  view.busy = number_text(card.gpu_percent, " %");
  view.temperature = number_text(card.temperature_celsius, " C");
  view.power = watts_text(card.power_milliwatts, card.power_limit_milliwatts);
  view.clock = number_text(card.sm_clock_mhz, " MHz");
  view.links = link_text(card);
  view.remarks = card_remarks(card);
  view.is_throttled = card.throttle_reasons && !model::throttle_words(*card.throttle_reasons).empty();
  return view;
}

std::vector<std::string> host_pieces(const model::HostReading& host) {
  std::vector<std::string> pieces;
  const auto add_pair = [&](std::string_view name, const Reading& used, const Reading& total) {
    if (used && total) pieces.push_back(fmt::format("{} {} of {}", name, bytes_text(used), bytes_text(total)));
  };
  Reading used;
  if (host.memory_total_bytes && host.memory_available_bytes) {
    used = *host.memory_total_bytes - *host.memory_available_bytes;
  }
  add_pair("RAM", used, host.memory_total_bytes);
  add_pair("cgroup", host.cgroup_used_bytes, host.cgroup_limit_bytes);
  add_pair("/dev/shm", host.shm_used_bytes, host.shm_total_bytes);
  if (host.locked_bytes) pieces.push_back("locked " + bytes_text(host.locked_bytes));
  if (host.page_cache_bytes) pieces.push_back("page cache " + bytes_text(host.page_cache_bytes));
  if (host.swap_used_bytes.value_or(0) > 0) pieces.push_back("swap " + bytes_text(host.swap_used_bytes));
  return pieces;
}

// One row of the list before it is put in order.
struct Row {
  const model::ProcessReading* process = nullptr;
  const model::CardUse* use = nullptr;
  const model::CardReading* card = nullptr;
  ProcessView view;
  std::string searched;
};

std::string where_text(const model::ProcessReading& process) {
  std::vector<std::string> pieces;
  if (!process.slurm_job.empty()) pieces.push_back("job " + process.slurm_job);
  if (!process.kubernetes_pod.empty()) {
    pieces.push_back("pod " + process.kubernetes_pod);
  } else if (!process.container.empty()) {
    pieces.push_back(process.container);
  }
  return fmt::format("{}", fmt::join(pieces, " "));
}

std::string rank_text(const model::ProcessReading& process) {
  if (process.rank.empty()) return {};
  return process.world_size.empty() ? process.rank : process.rank + "/" + process.world_size;
}

std::string card_text(const model::CardReading* card, const model::MachineSample& sample) {
  if (card == nullptr) return "?";
  if (card->parent.empty()) return label_of(*card, sample);
  const auto parent = std::ranges::find(sample.cards, card->parent, &model::CardReading::uuid);
  const std::string front = parent == sample.cards.end() ? "?" : number_text(parent->index, "");
  return front + ":" + number_text(card->index, "");
}

// "/opt/env/bin/python train.py" as "python train.py": a row has room for what differs.
std::string command_text(const model::ProcessReading& process) {
  if (process.command.empty()) return process.name;
  const std::size_t program = std::min(process.command.find(' '), process.command.size());
  const std::size_t slash = process.command.rfind('/', program);
  return slash == std::string::npos ? process.command : process.command.substr(slash + 1);
}

Row row_of(const model::ProcessReading& process, const model::CardUse& use, const model::MachineSample& sample) {
  Row row{.process = &process, .use = &use};
  const auto card = std::ranges::find(sample.cards, use.card, &model::CardReading::uuid);
  if (card != sample.cards.end()) row.card = &*card;
  ProcessView& view = row.view;
  view.pid = std::to_string(process.pid);
  view.user = process.user;
  view.rank = rank_text(process);
  view.card = card_text(row.card, sample);
  view.memory = bytes_text(use.used_bytes);
  view.busy = number_text(use.sm_percent, " %");
  view.where = where_text(process);
  view.command = command_text(process);
  view.since = process.started_unix_seconds
                   ? report::to_age(sample.at_unix_ns / 1'000'000'000 - *process.started_unix_seconds)
                   : "-";
  view.torch = explain_use(use);
  if (process.state == model::ProcessState::kZombie) {
    view.level = Level::kBad;
    view.command = fmt::format("[zombie] {}", process.name);
  } else if (process.state == model::ProcessState::kUnseen) {
    view.level = Level::kNote;
    if (view.user.empty()) view.user = "?";
    view.command = process.name.empty() ? "[not in our /proc]" : "[gone] " + view.command;
  }
  row.searched =
      base::lowered(fmt::format("{} {} {} {} {} gpu{} {}", view.pid, view.user, view.command + " " + process.command,
                                view.where, process.name, view.card, use.card));
  return row;
}

bool comes_before(const Row& one, const Row& other, SortBy order) {
  const auto card_of = [](const Row& row) { return row.view.card; };
  const auto memory_of = [](const Row& row) { return -row.use->used_bytes.value_or(-1); };
  const std::int64_t pid = one.process->pid, other_pid = other.process->pid;
  switch (order) {
    case SortBy::kMemory:
      return std::make_tuple(memory_of(one), pid) < std::make_tuple(memory_of(other), other_pid);
    case SortBy::kCard:
      return std::make_tuple(card_of(one), memory_of(one), pid) <
             std::make_tuple(card_of(other), memory_of(other), other_pid);
    case SortBy::kPid:
      return pid < other_pid;
    case SortBy::kUser:
      return std::make_tuple(one.view.user, memory_of(one)) < std::make_tuple(other.view.user, memory_of(other));
    case SortBy::kStarted:
      return one.process->started_unix_seconds.value_or(0) > other.process->started_unix_seconds.value_or(0);
    case SortBy::kName:
      return std::make_tuple(one.view.command, pid) < std::make_tuple(other.view.command, other_pid);
  }
  return false;
}

// Children behind their parents; workers whose parent uses no card stand under a row for it.
std::vector<ProcessView> as_tree(std::vector<Row> rows) {
  std::map<std::int64_t, std::vector<std::size_t>> children;
  std::map<std::int64_t, int> siblings;
  const auto is_listed = [&](std::int64_t pid) {
    return std::ranges::any_of(rows, [&](const Row& row) { return row.process->pid == pid; });
  };
  for (const Row& row : rows) ++siblings[row.process->parent];
  std::vector<std::size_t> roots;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t parent = rows[i].process->parent;
    const bool grouped = parent > 1 && (is_listed(parent) || siblings[parent] > 1);
    (grouped && parent != rows[i].process->pid ? children[parent] : roots).push_back(i);
  }
  std::vector<ProcessView> views;
  const auto add = [&](const auto& self, std::size_t i, int depth) -> void {
    views.push_back(rows[i].view);
    views.back().depth = depth;
    // A process with several cards has several rows: its children stand under the first.
    const auto found = children.find(rows[i].process->pid);
    if (found == children.end()) return;
    const std::vector<std::size_t> own = std::exchange(found->second, {});
    for (const std::size_t child : own) self(self, child, depth + 1);
  };
  for (const std::size_t i : roots) add(add, i, 0);
  for (auto& [parent, indices] : children) {
    if (indices.empty()) continue;
    const std::vector<std::size_t> own = std::exchange(indices, {});
    const std::string& name = rows[own.front()].process->parent_name;
    views.push_back({.pid = std::to_string(parent), .command = name.empty() ? "(parent)" : name + " (parent)"});
    for (const std::size_t child : own) add(add, child, 1);
  }
  return views;
}

}  // namespace

std::string explain_use(const model::CardUse& use) {
  if (!use.allocated_bytes || !use.reserved_bytes) return {};
  std::string text = fmt::format("PyTorch: {} in tensors, {} reserved", bytes_text(use.allocated_bytes),
                                 bytes_text(use.reserved_bytes));
  if (!use.used_bytes) return text;
  std::int64_t rest = *use.used_bytes - *use.reserved_bytes;
  const auto take = [&](const Reading& part, std::string_view name) {
    if (!part || *part == 0) return;
    text += fmt::format(" + {} {}", bytes_text(part), name);
    rest -= *part;
  };
  take(use.context_bytes, "context");
  take(use.library_bytes, "libraries");
  constexpr std::int64_t kMib = std::int64_t{1} << 20;
  if (rest >= kMib) {
    const bool context_is_known = use.context_bytes.value_or(0) > 0;
    text += fmt::format(" + {} {}", bytes_text(rest), context_is_known ? "other" : "context, libraries and other");
  }
  // Readings are taken one after another: a step in between may free what was counted.
  if (rest <= -kMib) text += fmt::format(" - {} freed meanwhile", bytes_text(-rest));
  return text;
}

WatchView build_watch_view(const model::MachineSample& sample, const WatchState& state,
                           const std::vector<std::string>& alerts) {
  WatchView view{.title = sample.host.name, .clock = report::to_clock(sample.at_unix_ns)};
  if (sample.driver.answers) {
    view.driver = "driver " + (sample.driver.version.empty() ? "?" : sample.driver.version);
    if (!sample.driver.cuda.empty()) view.driver += ", CUDA " + sample.driver.cuda;
  } else {
    const Level level = sample.cards.empty() || sample.cards.front().session.empty() ? Level::kBad : Level::kNote;
    view.remarks.push_back({level, sample.driver.problem.empty() ? "no driver" : sample.driver.problem});
  }
  for (const std::string& alert : alerts) view.remarks.push_back({Level::kBad, "ALERT " + alert});
  view.host = host_pieces(sample.host);
  for (const auto& card : sample.cards) {
    if (is_chosen(card, sample, state.cards)) view.cards.push_back(view_of(card, sample));
  }
  const std::vector<std::string> labels = card_labels(sample);
  view.all_cards = static_cast<int>(labels.size());
  for (const std::string& missing : missing_cards(sample, state.cards)) {
    const std::string all = labels.empty() ? "there is none" : fmt::format("the cards are {}", fmt::join(labels, ", "));
    view.remarks.push_back({Level::kBad, fmt::format("there is no card {}: {}", missing, all)});
  }
  std::vector<Row> rows;
  const std::string filter = base::lowered(state.filter);
  for (const auto& process : sample.processes) {
    for (const auto& use : process.uses) {
      Row row = row_of(process, use, sample);
      const bool is_elsewhere = row.card == nullptr ? !state.cards.empty() : !is_chosen(*row.card, sample, state.cards);
      if (is_elsewhere) {
        ++view.elsewhere;
      } else if (row.searched.find(filter) == std::string::npos) {
        ++view.hidden;
      } else {
        rows.push_back(std::move(row));
      }
    }
  }
  std::ranges::stable_sort(rows,
                           [&](const Row& one, const Row& other) { return comes_before(one, other, state.sort); });
  if (state.reversed) std::ranges::reverse(rows);
  if (state.tree) {
    view.processes = as_tree(std::move(rows));
  } else {
    for (Row& row : rows) view.processes.push_back(std::move(row.view));
  }
  return view;
}

}  // namespace vramfit::tui
