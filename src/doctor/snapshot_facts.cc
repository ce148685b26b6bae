#include "doctor/snapshot_facts.h"

#include <algorithm>
#include <map>
#include <span>
#include <unordered_map>

#include "doctor/at_failure.h"
#include "doctor/kept.h"
#include "doctor/stack.h"
#include "model/snapshot_line.h"

namespace vramfit::doctor {

namespace {

using model::Block;
using model::BlockState;
using model::Segment;
using model::Snapshot;
using model::StackId;
using model::TraceAction;
using model::TraceEntry;

constexpr std::size_t kMostSites = 64;

int fullest_device(const Snapshot& snapshot) {
  std::map<int, std::int64_t> reserved;
  for (const Segment& segment : snapshot.segments) reserved[segment.device] += segment.total_size;
  for (std::size_t device = 0; device < snapshot.traces.size(); ++device) {
    const auto& trace = snapshot.traces[device];
    const bool failed = std::any_of(trace.begin(), trace.end(),
                                    [](const TraceEntry& entry) { return entry.action == TraceAction::kOom; });
    if (failed) return static_cast<int>(device);
  }
  const auto most = std::max_element(reserved.begin(), reserved.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == reserved.end() ? 0 : most->first;
}

void add_block(const Segment& segment, const Block& block, SnapshotFacts& facts) {
  const Bytes size(block.size);
  if (block.state == BlockState::kActiveAllocated) {
    facts.active += size;
    facts.requested += Bytes(block.requested_size);
  } else if (block.state == BlockState::kActivePendingFree) {
    facts.pending += size;
  } else {
    facts.idle += size;
    ++facts.idle_blocks;
    facts.largest_idle = std::max(facts.largest_idle, size);
    if (segment.pool != model::PoolId()) facts.idle_in_private += size;
  }
}

struct Born {
  std::size_t at = 0;
  std::int64_t size = 0;
  StackId stack = StackId::kNone;
};

struct TraceView {
  std::unordered_map<std::uint64_t, Born> live;  // by address, at the end of the trace
  std::unordered_map<std::uint32_t, SiteHistory> sites;
  TraceSpan span;
};

TraceView walk(std::span<const TraceEntry> trace, SnapshotFacts& facts) {
  TraceView view;
  view.span.length = trace.size();
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const TraceEntry& entry = trace[i];
    if (entry.action == TraceAction::kAlloc) {
      view.live[entry.addr] = {i, entry.size, entry.stack};
      view.sites[static_cast<std::uint32_t>(entry.stack)].changes.push_back({i, entry.size});
    } else if (entry.action == TraceAction::kFreeRequested || entry.action == TraceAction::kFree) {
      const auto born = view.live.find(entry.addr);
      if (born == view.live.end()) {
        view.span.freed_older.push_back({i, -entry.size});
        continue;
      }
      SiteHistory& history = view.sites[static_cast<std::uint32_t>(born->second.stack)];
      ++history.freed;
      ++history.freed_by_size[born->second.size];
      history.changes.push_back({i, -born->second.size});
      view.live.erase(born);
    } else if (entry.action == TraceAction::kOom) {
      facts.failed_size = Bytes(entry.size);
      facts.device_free = Bytes(entry.device_free());
      facts.failed_stack = entry.stack;
      ++facts.ooms;
    }
  }
  return view;
}

std::string words_of(const Snapshot& snapshot, StackId stack) {
  std::string words;
  for (const model::FrameId id : snapshot.stack(stack)) {
    const model::Frame& frame = snapshot.frame(id);
    words += std::string(snapshot.text(frame.file)) + " " + std::string(snapshot.text(frame.function)) + "\n";
  }
  return lowered(words);
}

// Over how much of the trace it was made: twice what the middle half of it takes, 0 to 1.
double spread_of(const std::vector<std::size_t>& births, std::size_t length) {
  if (births.size() < 2 || length < 2) return 0;
  const std::size_t middle_half = births[births.size() * 3 / 4] - births[births.size() / 4];
  return std::min(1.0, 2 * static_cast<double>(middle_half) / static_cast<double>(length - 1));
}

// Live blocks by stack, with what the trace tells of each stack.
std::vector<CallSite> find_sites(const Snapshot& snapshot, const std::vector<Segment>& segments, const TraceView& view,
                                 int device) {
  struct Sum {
    CallSite site;
    std::size_t first = SIZE_MAX, last = 0;
    std::vector<LiveBlock> live;  // in the trace
  };
  std::map<StackId, Sum> sums;
  for (const Segment& segment : segments) {
    if (segment.device != device) continue;
    for (const Block& block : segment.blocks) {
      if (block.state != BlockState::kActiveAllocated) continue;
      const auto born = view.live.find(block.address);
      const StackId stack = block.stack != StackId::kNone || born == view.live.end() ? block.stack : born->second.stack;
      Sum& sum = sums[stack];
      ++sum.site.blocks;
      sum.site.bytes += Bytes(block.size);
      sum.site.largest = std::max(sum.site.largest, Bytes(block.size));
      if (born == view.live.end()) {
        sum.site.older_bytes += Bytes(block.size);
        continue;
      }
      ++sum.site.in_trace;
      sum.live.push_back({born->second.at, born->second.size});
      sum.first = std::min(sum.first, born->second.at);
      sum.last = std::max(sum.last, born->second.at);
    }
  }
  std::vector<CallSite> sites;
  for (auto& [stack, sum] : sums) {
    sum.site.stack = stack;
    if (sum.site.in_trace > 1 && view.span.length > 1) {
      sum.site.spread = static_cast<double>(sum.last - sum.first) / static_cast<double>(view.span.length - 1);
    }
    const auto history = view.sites.find(static_cast<std::uint32_t>(stack));
    if (history != view.sites.end()) sum.site.freed = history->second.freed;
    const Kept kept = find_kept(sum.live, history != view.sites.end() ? history->second : SiteHistory{}, view.span);
    sum.site.kept = static_cast<std::int64_t>(kept.births.size());
    sum.site.kept_bytes = kept.bytes;
    sum.site.kept_spread = spread_of(kept.births, view.span.length);
    sum.site.rises = kept.rises;
    sites.push_back(std::move(sum.site));
  }
  std::sort(sites.begin(), sites.end(), [](const CallSite& a, const CallSite& b) { return a.bytes > b.bytes; });
  if (sites.size() > kMostSites) sites.resize(kMostSites);
  for (CallSite& site : sites) {
    site.line = own_line(snapshot, site.stack);
    site.is_own = has_own_line(snapshot, site.stack);
    site.words = words_of(snapshot, site.stack);
  }
  return sites;
}

// The most frequent number of frees of one stack is about the number of periods seen.
std::int64_t count_periods(const TraceView& view) {
  std::map<std::int64_t, std::int64_t> histogram;
  for (const auto& [stack, history] : view.sites) {
    if (history.freed > 0) ++histogram[history.freed];
  }
  const auto most = std::max_element(histogram.begin(), histogram.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == histogram.end() ? 0 : most->first;
}

}  // namespace

std::string own_line(const Snapshot& snapshot, StackId stack) {
  std::string innermost;
  for (const model::FrameId id : snapshot.stack(stack)) {
    const model::Frame& frame = snapshot.frame(id);
    const std::string file(snapshot.text(frame.file));
    if (!file.ends_with(".py") && !file.starts_with("<ipython")) continue;
    const std::size_t slash = file.find_last_of("/\\");
    const std::string line = (slash == std::string::npos ? file : file.substr(slash + 1)) + ":" +
                             std::to_string(frame.line) + " in " + std::string(snapshot.text(frame.function));
    if (innermost.empty()) innermost = line;
    if (!model::is_library(file) || file.starts_with("<ipython")) return line;
  }
  if (innermost.empty() && !snapshot.stack(stack).empty()) return model::line_of(snapshot, stack);
  return innermost;
}

bool has_own_line(const Snapshot& snapshot, StackId stack) {
  return std::ranges::any_of(snapshot.stack(stack), [&](model::FrameId id) {
    const std::string_view file = snapshot.text(snapshot.frame(id).file);
    return file.starts_with("<ipython") || (file.ends_with(".py") && !model::is_library(file));
  });
}

std::vector<LineTotal> largest_lines(const SnapshotFacts& facts, std::size_t most) {
  std::vector<LineTotal> lines;
  for (const CallSite& site : facts.sites) {
    if (site.line.empty()) continue;
    auto found = std::ranges::find(lines, site.line, &LineTotal::line);
    if (found == lines.end()) found = lines.insert(lines.end(), {site.line, site.is_own, 0, Bytes(0)});
    found->blocks += site.blocks;
    found->bytes += site.bytes;
  }
  std::ranges::stable_sort(lines, [](const LineTotal& a, const LineTotal& b) {
    return a.is_own != b.is_own ? a.is_own : a.bytes > b.bytes;
  });
  if (lines.size() > most) lines.resize(most);
  return lines;
}

SnapshotFacts find_facts(const std::string& file, const Snapshot& snapshot) {
  SnapshotFacts facts;
  facts.file = file;
  facts.device = fullest_device(snapshot);
  // Judged at the failure, if the trace has one.
  const auto failure = last_failure(snapshot, facts.device);
  const std::vector<Segment> then = failure ? segments_at(snapshot, facts.device, *failure) : std::vector<Segment>();
  const std::vector<Segment>& segments = failure ? then : snapshot.segments;
  for (const Segment& segment : segments) {
    if (segment.device != facts.device) continue;
    ++facts.segments;
    facts.reserved += Bytes(segment.total_size);
    facts.allocated += Bytes(segment.allocated_size);
    facts.expandable |= segment.is_expandable;
    for (const Block& block : segment.blocks) add_block(segment, block, facts);
  }
  if (snapshot.settings) {
    facts.settings = snapshot.settings->conf;
    facts.expandable |= snapshot.settings->expandable_segments;
  }
  static const std::vector<TraceEntry> kNoTrace;
  const auto device = static_cast<std::size_t>(facts.device);
  std::span<const TraceEntry> trace = device < snapshot.traces.size() ? snapshot.traces[device] : kNoTrace;
  if (failure) trace = trace.first(*failure + 1);
  TraceView view = walk(trace, facts);
  facts.steps = view.span.steps = count_periods(view);
  facts.failed_line = own_line(snapshot, facts.failed_stack);
  facts.sites = find_sites(snapshot, segments, view, facts.device);
  return facts;
}

}  // namespace vramfit::doctor
