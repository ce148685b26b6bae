#include "views/trace/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/bytes.h"
#include "model/snapshot_line.h"
#include "views/trace/curve.h"
#include "views/trace/stacks.h"
#include "views/trace/tables.h"

namespace vramfit::views::report_trace {

using report::page::CardTrace;
using report::page::TraceFacts;

namespace {

constexpr std::size_t kMostMarks = 400;
const std::string kLeftOut = "(left out)";
const std::string kOtherLines = "(one of the lines that hold less)";

// Each stack's line, worked out once.
class Lines {
 public:
  Lines(const model::Snapshot& snapshot, bool is_confidential)
      : snapshot_(snapshot), is_confidential_(is_confidential) {}
  const std::string& of(const Tenant& tenant) {
    if (is_confidential_) return kLeftOut;
    const auto [found, is_new] = known_.try_emplace(static_cast<std::uint32_t>(tenant.stack));
    if (is_new) found->second = model::line_of(snapshot_, tenant.stack);
    return found->second;
  }

 private:
  const model::Snapshot& snapshot_;
  bool is_confidential_;
  std::unordered_map<std::uint32_t, std::string> known_;
};

// One card's part of the page.
class CardTraceBuilder {
 public:
  CardTraceBuilder(const model::Snapshot& snapshot, int device, const TraceRequest& request, const Budget& budget)
      : snapshot_(snapshot),
        request_(request),
        budget_(budget),
        trace_(static_cast<std::size_t>(device) < snapshot.traces.size()
                   ? snapshot.traces[static_cast<std::size_t>(device)]
                   : kNoTrace),
        history_(build_history(snapshot, device)),
        lines_(snapshot, request.is_confidential) {
    card_.device = device;
  }

  CardTrace build();

 private:
  void add_time();
  void add_marks();
  void add_stops(const Kept& kept);
  void add_segments(const std::vector<Instant>& stops);
  void add_blocks(const Kept& kept);
  void add_tables(Instant instant);
  void add_remarks();

  static const std::vector<model::TraceEntry> kNoTrace;
  const model::Snapshot& snapshot_;
  const TraceRequest& request_;
  const Budget& budget_;
  const std::vector<model::TraceEntry>& trace_;
  History history_;
  Lines lines_;
  CardTrace card_;
};

const std::vector<model::TraceEntry> CardTraceBuilder::kNoTrace;

void CardTraceBuilder::add_time() {
  card_.entries = static_cast<std::int64_t>(trace_.size());
  card_.has_times = !trace_.empty() && trace_.back().time_us > 0;
  if (card_.has_times) card_.seconds = seconds_at(trace_, history_.last());
  card_.levels = build_curve(history_, trace_, budget_.buckets);
  card_.blocks_in_trace = static_cast<std::int64_t>(history_.tenants.size());
}

void CardTraceBuilder::add_marks() {
  for (const OutOfMemory& oom : history_.ooms) {
    std::string text = fmt::format("out of memory: tried {}, {} free on the card", to_string(base::Bytes(oom.tried)),
                                   to_string(base::Bytes(oom.device_free)));
    if (!request_.is_confidential && oom.stack != model::StackId::kNone)
      text += ", at " + model::line_of(snapshot_, oom.stack);
    card_.marks.push_back({oom.at, seconds_at(trace_, oom.at), std::move(text)});
  }
  if (!request_.is_confidential && card_.has_times) {
    for (const model::Annotation& annotation : snapshot_.annotations) {
      if (annotation.device != card_.device || !annotation.is_start) continue;
      const auto at = std::ranges::lower_bound(trace_, annotation.time_us, {}, &model::TraceEntry::time_us);
      card_.marks.push_back({static_cast<std::uint32_t>(at - trace_.begin()),
                             static_cast<double>(annotation.time_us - trace_.front().time_us) / 1e6,
                             std::string(snapshot_.text(annotation.name))});
    }
  }
  if (card_.marks.size() > kMostMarks) {
    card_.marks_left_out = static_cast<std::int64_t>(card_.marks.size() - kMostMarks);
    card_.marks.resize(kMostMarks);
  }
  std::ranges::stable_sort(card_.marks, {}, &report::page::TraceMark::instant);
}

void CardTraceBuilder::add_stops(const Kept& kept) {
  std::size_t next = 0;
  std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> by_place;
  std::int64_t bytes = 0, blocks = 0;
  for (std::uint32_t i = 0; i < kept.stops.size(); ++i) {
    for (; next < kept.small.size() && kept.small[next].stop == i; ++next) {
      const report::page::SmallBlocks& now = kept.small[next];
      auto& before = by_place[now.place];
      bytes += static_cast<std::int64_t>(now.bytes) - before.first;
      blocks += now.blocks - before.second;
      before = {static_cast<std::int64_t>(now.bytes), now.blocks};
    }
    const Instant instant = kept.stops[i];
    card_.stops.push_back({instant, card_.has_times ? seconds_at(trace_, instant) : 0, history_.allocated[instant],
                           history_.reserved[instant], bytes, blocks});
    if (card_.stops[i].allocated > card_.stops[card_.peak_stop].allocated) card_.peak_stop = i;
  }
  std::set<std::uint32_t> ooms;
  for (const OutOfMemory& oom : history_.ooms) {
    const std::uint32_t stop = stop_of(kept.stops, oom.at);
    if (stop < kept.stops.size() && kept.stops[stop] == oom.at) ooms.insert(stop);
  }
  card_.oom_stops.assign(ooms.begin(), ooms.end());
  card_.first_stop = card_.peak_stop;
  card_.has_all_stops = kept.stops.size() == history_.allocated.size();
}

void CardTraceBuilder::add_segments(const std::vector<Instant>& stops) {
  std::map<std::string, std::uint32_t> groups;
  std::vector<const Range*> ranges;
  for (const Range& range : history_.ranges) {
    if (stop_of(stops, range.from) < stop_of(stops, range.to)) ranges.push_back(&range);
  }
  // The large pool first, then by what tells groups apart.
  std::ranges::stable_sort(ranges, {}, [](const Range* range) { return group_title(*range); });
  for (const Range* range : ranges) {
    const auto [group, is_new] =
        groups.try_emplace(group_title(*range), static_cast<std::uint32_t>(card_.groups.size()));
    if (is_new) card_.groups.push_back({group->first, range->is_expandable});
    card_.segments.push_back({range->address, range->size, stop_of(stops, range->from), stop_of(stops, range->to),
                              group->second, range->place});
  }
  std::ranges::stable_sort(card_.segments, [](const auto& left, const auto& right) {
    return std::pair(left.group, left.address) < std::pair(right.group, right.address);
  });
}

void CardTraceBuilder::add_blocks(const Kept& kept) {
  Stacks stacks(snapshot_, budget_.stack_nodes, budget_.text_bytes);
  NameTreeBuilder labels(budget_.stack_nodes / 4, budget_.text_bytes / 4);
  std::vector<std::uint32_t> label_nodes(history_.labels.size(), 0);
  std::map<std::string, std::uint32_t> line_numbers;
  std::size_t line_bytes = 0;
  if (!request_.is_confidential) {
    for (std::size_t i = 1; i < history_.labels.size(); ++i) {
      label_nodes[i] = labels.child(label_nodes[history_.labels[i].parent], history_.labels[i].text);
    }
  }
  for (const std::uint32_t index : kept.tenants) {  // the largest first
    const Tenant& tenant = history_.tenants[index];
    const std::string& own = lines_.of(tenant);
    const std::string& line = line_bytes < budget_.text_bytes / 2 || line_numbers.contains(own) ? own : kOtherLines;
    const auto [number, is_new] = line_numbers.try_emplace(line, static_cast<std::uint32_t>(card_.lines.size()));
    if (is_new) {
      card_.lines.push_back(line);
      line_bytes += line.size();
    }
    report::page::MapBlock block{tenant.address, tenant.size, tenant.requested};
    block.from_stop = stop_of(kept.stops, tenant.from);
    block.freed_stop = stop_of(kept.stops, tenant.freed);
    block.to_stop = stop_of(kept.stops, tenant.to);
    block.stack = request_.is_confidential ? 0 : stacks.node_of(tenant.stack);
    block.line = number->second;
    block.label = label_nodes[tenant.label];
    card_.blocks.push_back(block);
  }
  std::ranges::stable_sort(card_.blocks, {}, &report::page::MapBlock::address);
  card_.small = kept.small;
  card_.least_kept = kept.least_kept;
  card_.stacks = stacks.take();
  card_.labels = labels.take();
}

// The last row is the sum of those that are left out.
void cut(std::vector<report::page::LineTotal>& rows) {
  if (rows.size() <= kMostLines) return;
  report::page::LineTotal others{.line = fmt::format("({} other lines)", rows.size() - kMostLines)};
  for (std::size_t i = kMostLines; i < rows.size(); ++i) {
    others.bytes += rows[i].bytes;
    others.blocks += rows[i].blocks;
  }
  rows.resize(kMostLines);
  rows.push_back(std::move(others));
}

void CardTraceBuilder::add_tables(Instant instant) {
  card_.lines_at_first =
      add_up_lines(history_, instant, [&](const Tenant& tenant) -> const std::string& { return lines_.of(tenant); });
  cut(card_.lines_at_first);
  card_.segments_at_first = describe_segments(history_, instant);
  std::ranges::stable_sort(card_.segments_at_first, std::ranges::greater(), &report::page::SegmentRow::size);
  if (card_.segments_at_first.size() > kMostSegments) {
    card_.segments_left_out = static_cast<std::int64_t>(card_.segments_at_first.size() - kMostSegments);
    card_.segments_at_first.resize(kMostSegments);
  }
}

void CardTraceBuilder::add_remarks() {
  std::int64_t unseen = 0, unseen_bytes = 0;
  for (const Tenant& tenant : history_.tenants) {
    if (tenant.from != 0) break;  // those that were there before come first
    ++unseen;
    unseen_bytes += static_cast<std::int64_t>(tenant.size);
  }
  if (trace_.empty()) {
    card_.remarks.push_back("The snapshot has no trace of this card: only its last state is shown.");
  } else if (unseen > 0) {
    card_.remarks.push_back(fmt::format("{} blocks ({}) lived when the trace begins: what came before is not recorded.",
                                        unseen, to_string(base::Bytes(unseen_bytes))));
  }
  if (history_.same_blocks != history_.final_blocks) {
    card_.remarks.push_back(fmt::format(
        "Only {} of the {} blocks in use at the end lie where the snapshot has them: the trace is not whole.",
        history_.same_blocks, history_.final_blocks));
  }
  if (history_.unmatched_entries > 0) {
    card_.remarks.push_back(
        fmt::format("Entries of the trace that fit nothing before or after them: {}.", history_.unmatched_entries));
  }
}

CardTrace CardTraceBuilder::build() {
  add_time();
  add_marks();
  const Kept kept = keep_largest(history_, budget_);
  add_stops(kept);
  add_segments(kept.stops);
  add_blocks(kept);
  add_tables(kept.stops[card_.first_stop]);
  add_remarks();
  return std::move(card_);
}

}  // namespace

TraceFacts build_trace(const model::Snapshot& snapshot, const TraceRequest& request, base::ProgressSink& progress) {
  std::set<int> devices;
  for (std::size_t i = 0; i < snapshot.traces.size(); ++i) {
    if (!snapshot.traces[i].empty()) devices.insert(static_cast<int>(i));
  }
  for (const model::Segment& segment : snapshot.segments) devices.insert(segment.device);
  TraceFacts facts{.name = request.is_confidential ? "a snapshot" : request.name, .torch = snapshot.torch_at_least};
  facts.damage = snapshot.damage;
  const Budget budget = share(request.budget, std::max<std::size_t>(devices.size(), 1));
  for (const int device : devices) {
    progress.update(fmt::format("following the trace of card {}", device));
    facts.cards.push_back(CardTraceBuilder(snapshot, device, request, budget).build());
  }
  progress.clear();
  return facts;
}

}  // namespace vramfit::views::report_trace
