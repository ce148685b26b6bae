#include "liveness/lifetimes.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <utility>

#include "model/allocator_sizes.h"
#include "model/number_text.h"
#include "model/recording.h"

namespace vramfit::liveness {

using model::Recording;

namespace {

// Times of a damaged recording may be anything: nonsense in, nonsense out, but no undefined sum.
std::int64_t add_wrapping(std::int64_t left, std::int64_t right) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(left) + static_cast<std::uint64_t>(right));
}

std::int64_t subtract_wrapping(std::int64_t left, std::int64_t right) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(left) - static_cast<std::uint64_t>(right));
}

constexpr std::size_t kMostMade = 4;     // of the last blocks before a product: copies of its inputs, result, workspace
constexpr std::uint8_t kMostCards = 64;  // 255 is the host; anything else from here on is no card of any machine

// Builds one card's history from its events in the order of time.
class HistoryBuilder {
 public:
  HistoryBuilder(int device, std::span<const Recording> recordings)
      : recordings_(recordings), processes_(recordings.size()) {
    history_.device = device;
    history_.steps.resize(model::kPhaseCount);
  }

  void apply(const vf_record& record, int process, std::int64_t at_ns) {
    if (history_.levels.empty()) history_.started_at_ns = at_ns;
    now_ = static_cast<EventIndex>(history_.levels.size());
    processes_[static_cast<std::size_t>(process)].uses_card = true;
    apply_kind(record, process);
    Bytes allocated, reserved;
    Overheads overheads;
    for (const Process& each : processes_) {
      allocated += each.allocated;
      reserved += each.reserved;
      overheads.context += each.context;
      overheads.libraries += each.libraries;
    }
    history_.overheads.context = std::max(history_.overheads.context, overheads.context);
    history_.overheads.libraries = std::max(history_.overheads.libraries, overheads.libraries);
    history_.levels.push_back({subtract_wrapping(at_ns, history_.started_at_ns), allocated, reserved, device_,
                               record.phase, process, overheads, record.stage});
  }

  // Whether a process has used this card so far.
  bool is_used_by(int process) const { return processes_[static_cast<std::size_t>(process)].uses_card; }

  // A process is gone after its last event: from the next event on nothing of it is on the card.
  void end_process(int process) {
    Process& of = processes_[static_cast<std::size_t>(process)];
    const auto next = static_cast<EventIndex>(history_.levels.size());
    for (const auto& [address, index] : of.blocks) history_.blocks[index].died = next;
    for (const auto& [address, index] : of.segments) history_.segments[index].died = next;
    for (auto& [thread, made] : of.made) settle(made);
    if (device_.count() >= 0) device_ -= of.reserved + of.context + of.libraries;
    of = Process{};
  }

  CardHistory take() && {
    for (Process& of : processes_) {
      for (auto& [thread, made] : of.made) settle(made);
    }
    mark_cublas_workspaces();
    return std::move(history_);
  }

 private:
  // What a thread has allocated since its last product. The result of a product is the last of it that outlives the
  // call: its workspace, allocated later, is given back at once.
  struct Made {
    std::vector<std::size_t> blocks;
    bool is_multiplied = false;  // the product is under way, or was the last thing that happened
  };

  struct Process {
    bool uses_card = false;
    Bytes allocated, reserved, context, libraries;
    std::map<std::uint64_t, std::size_t> blocks;    // address -> living block
    std::map<std::uint64_t, std::size_t> segments;  // address -> living segment
    std::map<std::uint32_t, Made> made;             // by thread
  };

  void apply_kind(const vf_record& record, int process) {
    Process& of = processes_[static_cast<std::size_t>(process)];
    switch (record.kind) {
      case VF_RECORD_BLOCK_ALLOC:
        give_birth(record, of, process);
        set_levels(record, of);
        break;
      case VF_RECORD_BLOCK_FREE:
        // A forked worker frees its parent's blocks in its own books, and counts the parent's memory a second time.
        if (end_life(record, of)) set_levels(record, of);
        break;
      case VF_RECORD_SEGMENT_ALLOC:
        of.segments[record.address] = history_.segments.size();
        history_.segments.push_back({record.address, Bytes(record.size), now_, kNever, process});
        device_ = Bytes(record.a);
        break;
      case VF_RECORD_SEGMENT_FREE:
        end_segment(record, of);
        of.reserved = std::max(Bytes(0), of.reserved - Bytes(record.size));  // until the next block event says it
        device_ = Bytes(record.a);
        break;
      case VF_RECORD_CONTEXT:
        of.context += Bytes(record.size);
        device_ = Bytes(record.a);
        break;
      case VF_RECORD_LIBRARY:
        of.libraries += Bytes(record.size);
        if (record.a > 0) {
          device_ = Bytes(record.a);
        } else if (device_.count() >= 0) {
          device_ += Bytes(record.size);
        }
        break;
      case VF_RECORD_OOM:
        history_.ooms.push_back(
            {now_, Bytes(record.size), record.phase, process, record.stage, record.scope, record.line, record.thread});
        break;
      case VF_RECORD_TAG:
        tag(record, of);
        break;
      case VF_RECORD_MATMUL:
      case VF_RECORD_CONVOLUTION:
        if (Made& made = of.made[record.thread]; !made.blocks.empty() && is_of_weights(record, process)) {
          made.is_multiplied = true;
        }
        break;
      case VF_RECORD_MARK:
        history_.marks.push_back({now_, std::string(recordings_[static_cast<std::size_t>(process)].text(record.text))});
        break;
      case VF_RECORD_STEP:
        if (record.phase < history_.steps.size()) ++history_.steps[record.phase];
        history_.step_ends.push_back({now_, record.phase, process, record.a});
        break;
      default:
        break;
    }
  }

  void set_levels(const vf_record& record, Process& of) {
    of.allocated = Bytes(record.a);
    of.reserved = Bytes(record.b);
  }

  void give_birth(const vf_record& record, Process& of, int process) {
    if (const auto before = of.blocks.find(record.address); before != of.blocks.end()) {
      history_.blocks[before->second].died = now_;
      history_.blocks[before->second].freed = true;
      ++history_.inconsistent_events;
    }
    of.blocks[record.address] = history_.blocks.size();
    Block block{record.address, Bytes(record.size), now_, kNever, process, record.phase, record.stage};
    block.scope = record.scope;
    block.line = record.line;
    block.thread = record.thread;
    Made& made = of.made[record.thread];
    if (made.is_multiplied) settle(made);
    if (made.blocks.size() == kMostMade) made.blocks.erase(made.blocks.begin());
    made.blocks.push_back(history_.blocks.size());
    history_.blocks.push_back(block);
  }

  // Told by the function that did it (virtual_gpu/cublas, cublaslt). Batched products are mostly those within
  // attention, whose results are large for the work that they take.
  bool is_of_weights(const vf_record& record, int process) const {
    if (record.kind == VF_RECORD_CONVOLUTION) return true;
    const std::string_view function = recordings_[static_cast<std::size_t>(process)].text(record.text);
    return function == "gemm" || function == "gemmEx" || function == "cublasLtMatmul";
  }

  void settle(Made& made) {
    if (made.is_multiplied) {
      const auto lives = [&](std::size_t index) { return !history_.blocks[index].freed; };
      const auto last = std::find_if(made.blocks.rbegin(), made.blocks.rend(), lives);
      if (last != made.blocks.rend()) history_.blocks[*last].product = true;
    }
    made = Made{};
  }

  bool end_life(const vf_record& record, Process& of) {
    const auto living = of.blocks.find(record.address);
    if (living == of.blocks.end()) {
      ++history_.inconsistent_events;
      return false;
    }
    history_.blocks[living->second].died = now_;
    history_.blocks[living->second].freed = true;
    of.blocks.erase(living);
    return true;
  }

  // Expandable segments are given back piece by piece: what is left keeps living.
  void end_segment(const vf_record& record, Process& of) {
    const auto living = of.segments.find(record.address);
    if (living == of.segments.end()) {
      ++history_.inconsistent_events;
      return;
    }
    history_.segments[living->second].died = now_;
    of.segments.erase(living);
  }

  void tag(const vf_record& record, Process& of) {
    auto after = of.blocks.upper_bound(record.address);
    if (after == of.blocks.begin()) return;
    Block& block = history_.blocks[std::prev(after)->second];
    if (record.address >= block.address + static_cast<std::uint64_t>(block.size.count())) return;
    block.owner = VF_OWNER_UNKNOWN;
    if (model::is_owner(record.a)) block.owner = static_cast<std::uint8_t>(record.a);
    block.tag = record.text;
  }

  // PyTorch allocates a cuBLAS workspace like a tensor, once a thread and stream, and never gives it back. Its size is
  // what CUBLAS_WORKSPACE_CONFIG's default ":4096:2:16:8" says, 32 MiB on Hopper (ATen, getChosenWorkspaceSize); the
  // block may be up to 1 MiB larger, because less than that is not split off.
  void mark_cublas_workspaces() {
    constexpr std::int64_t kSizes[] = {(4096 * 2 + 16 * 8) * 1024, 4096 * 8 * 1024};
    constexpr std::int64_t kUnsplit = model::kLeastSplit;
    std::set<std::pair<int, std::uint32_t>> seen;
    for (Block& block : history_.blocks) {
      if (block.freed || block.owner != VF_OWNER_UNKNOWN || block.phase == VF_PHASE_LOAD) continue;
      const bool fits = std::any_of(std::begin(kSizes), std::end(kSizes), [&](std::int64_t size) {
        return block.size >= Bytes(size) && block.size < Bytes(size + kUnsplit);
      });
      if (fits && seen.emplace(block.process, block.thread).second) block.owner = VF_OWNER_WORKSPACE;
    }
  }

  std::span<const Recording> recordings_;
  std::vector<Process> processes_;
  CardHistory history_;
  EventIndex now_ = 0;
  Bytes device_{-1};
};

// Steps and marks belong to the process, not to one card; a tag names an address, which only one card knows. They are
// moments of the cards that the process uses, and of no others: one rank's validation says nothing of another's card.
bool concerns_its_cards(const vf_record& record) {
  return record.kind == VF_RECORD_STEP || record.kind == VF_RECORD_MARK || record.kind == VF_RECORD_TAG;
}

// No card and no sum over cards comes near 1 PiB: such a figure is damage, and would only overflow what is added up.
bool is_possible(const vf_record& record) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  const auto small = [](std::int64_t figure) { return figure > -kMost && figure < kMost; };
  const bool counts_bytes = record.kind != VF_RECORD_MATMUL && record.kind != VF_RECORD_CONVOLUTION;
  return !counts_bytes || (small(record.size) && small(record.a) && small(record.b));
}

struct Cursor {
  std::int64_t at_ns;
  int process;
  std::size_t next;
  friend bool operator>(const Cursor& left, const Cursor& right) {
    return std::pair(left.at_ns, left.process) > std::pair(right.at_ns, right.process);
  }
};

// Calls use(record, process, absolute time) for every record of every process, by time, and ended(process) after the
// last one of a process that others outlive.
template <class Use, class Ended>
void for_each_by_time(std::span<const Recording> recordings, Use use, Ended ended) {
  std::priority_queue<Cursor, std::vector<Cursor>, std::greater<>> cursors;
  const auto push = [&](int process, std::size_t next) {
    const Recording& recording = recordings[static_cast<std::size_t>(process)];
    if (next < recording.records.size())
      cursors.push({add_wrapping(recording.started_at_ns, recording.records[next].at_ns), process, next});
  };
  for (std::size_t i = 0; i < recordings.size(); ++i) push(static_cast<int>(i), 0);
  while (!cursors.empty()) {
    const Cursor cursor = cursors.top();
    cursors.pop();
    const Recording& recording = recordings[static_cast<std::size_t>(cursor.process)];
    use(recording.records[cursor.next], cursor.process, cursor.at_ns);
    const bool others_go_on = !cursors.empty();
    if (cursor.next + 1 == recording.records.size() && others_go_on) ended(cursor.process);
    push(cursor.process, cursor.next + 1);
  }
}

}  // namespace

namespace {

// The events of a card between two moments of the clock: (first, last].
std::pair<EventIndex, EventIndex> events_between(const CardHistory& history, std::int64_t begun_ns,
                                                 std::int64_t ended_ns) {
  const auto count_until = [&](std::int64_t at_ns) {
    const auto is_before = [&](const Level& level) { return level.at_ns <= at_ns - history.started_at_ns; };
    return static_cast<EventIndex>(std::ranges::partition_point(history.levels, is_before) - history.levels.begin());
  };
  return {count_until(begun_ns), count_until(ended_ns)};
}

void mark_collected(std::span<const Recording> recordings, CardHistory& history) {
  for (std::size_t process = 0; process < recordings.size(); ++process) {
    for (const auto& collected : recordings[process].notes.collected) {
      const auto [first, end] = events_between(history, collected.begun_ns, collected.ended_ns);
      for (Block& block : history.blocks) {
        const bool is_freed_then = block.freed && block.died >= first && block.died < end;
        if (is_freed_then && block.process == static_cast<int>(process)) block.collected = true;
      }
    }
  }
}

}  // namespace

std::vector<CardHistory> build_histories(std::span<const Recording> recordings) {
  std::map<int, HistoryBuilder> builders;
  const auto ended = [&](int process) {
    for (auto& [device, builder] : builders) builder.end_process(process);
  };
  const auto use = [&](const vf_record& record, int process, std::int64_t at_ns) {
    if (record.kind == 0 || !is_possible(record)) return;
    if (concerns_its_cards(record)) {
      for (auto& [device, builder] : builders) {
        if (builder.is_used_by(process)) builder.apply(record, process, at_ns);
      }
    } else if (record.device < kMostCards) {
      builders.try_emplace(record.device, record.device, recordings).first->second.apply(record, process, at_ns);
    }
  };
  for_each_by_time(recordings, use, ended);
  std::vector<CardHistory> histories;
  for (auto& [device, builder] : builders) histories.push_back(std::move(builder).take());
  for (CardHistory& history : histories) mark_collected(recordings, history);
  return histories;
}

const CardHistory* find_history(std::span<const CardHistory> histories, int device) {
  const auto found = std::ranges::find(histories, device, &CardHistory::device);
  return found == histories.end() ? nullptr : &*found;
}

}  // namespace vramfit::liveness
