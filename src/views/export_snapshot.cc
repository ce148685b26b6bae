#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ingest/snapshot/reader.h"
#include "model/snapshot_line.h"
#include "views/export.h"
#include "views/trace/history.h"

namespace vramfit::views {

using base::Bytes;
using base::Result;
using report::exports::Counter;
using report::exports::ExportFacts;
using report::exports::StackFrame;
using report::exports::StackProfile;
using report_trace::History;

namespace {

class CardExport {
 public:
  CardExport(const model::Snapshot& snapshot, int device, std::int64_t first_us, ExportFacts& facts)
      : snapshot_(snapshot),
        device_(device),
        first_us_(first_us),
        facts_(facts),
        history_(report_trace::build_history(snapshot, device)) {
    if (static_cast<std::size_t>(device) < snapshot.traces.size()) {
      trace_ = &snapshot.traces[static_cast<std::size_t>(device)];
    }
  }

  void add() {
    add_counters();
    add_slices();
    for (const auto& oom : history_.ooms) {
      facts_.marks.push_back({fmt::format("out of memory: tried {}, the driver had {}", to_string(Bytes(oom.tried)),
                                          to_string(Bytes(oom.device_free))),
                              "oom", device_, at_ns(oom.at)});
    }
    add_stacks();
    const auto most = std::ranges::max_element(history_.reserved);
    facts_.cards.push_back({device_, "", Bytes(), Bytes(*most)});
  }

 private:
  // Instant k is the state after the first k entries. A file without times counts entries, one a microsecond.
  std::int64_t at_ns(report_trace::Instant instant) const {
    if (!facts_.has_times || trace_ == nullptr || trace_->empty()) return std::int64_t{instant} * 1000;
    const std::size_t entry = instant == 0 ? 0 : instant - 1;
    return ((*trace_)[std::min(entry, trace_->size() - 1)].time_us - first_us_) * 1000;
  }

  void add_counters() {
    Counter allocated{"allocated", device_, {}}, reserved{"reserved", device_, {}};
    for (report_trace::Instant instant = 0; instant <= history_.last(); ++instant) {
      const std::int64_t at = at_ns(instant);
      if (instant == 0 || history_.allocated[instant] != history_.allocated[instant - 1]) {
        allocated.points.push_back({at, Bytes(history_.allocated[instant])});
      }
      if (instant == 0 || history_.reserved[instant] != history_.reserved[instant - 1]) {
        reserved.points.push_back({at, Bytes(history_.reserved[instant])});
      }
    }
    facts_.counters.push_back(std::move(allocated));
    facts_.counters.push_back(std::move(reserved));
  }

  // Ranges of record_function. One that never ends lasts to the end of the trace.
  void add_slices() {
    std::vector<std::size_t> open;
    const std::int64_t last = at_ns(history_.last());
    for (const model::Annotation& annotation : snapshot_.annotations) {
      if (annotation.device != device_ || !facts_.has_times) continue;
      const std::int64_t at = std::max<std::int64_t>((annotation.time_us - first_us_) * 1000, 0);
      const std::string name(snapshot_.text(annotation.name));
      if (annotation.is_start) {
        open.push_back(facts_.slices.size());
        facts_.slices.push_back({name, device_, at, std::max(at, last)});
        continue;
      }
      const auto found = std::find_if(open.rbegin(), open.rend(),
                                      [&](std::size_t index) { return facts_.slices[index].name == name; });
      if (found == open.rend()) continue;
      facts_.slices[*found].to_ns = std::max(at, facts_.slices[*found].from_ns);
      open.erase(std::next(found).base());
    }
  }

  std::vector<StackFrame> frames_of(model::StackId stack) const {
    std::vector<StackFrame> frames;
    for (model::ShownFrame& frame : model::shown_frames(snapshot_, stack))
      frames.push_back({std::move(frame.function), std::string(frame.file), frame.line});
    if (frames.empty()) frames.push_back({"(no stack was recorded)", "", 0});
    return frames;
  }

  void add_stacks() {
    const auto peak =
        static_cast<report_trace::Instant>(std::ranges::max_element(history_.allocated) - history_.allocated.begin());
    std::map<model::StackId, Bytes> sums;
    for (const auto& tenant : history_.tenants) {
      if (tenant.from <= peak && peak < tenant.freed)
        sums[tenant.stack] += Bytes(static_cast<std::int64_t>(tenant.size));
    }
    StackProfile profile{fmt::format("card {}, the peak by stack", device_), {}};
    for (const auto& [stack, bytes] : sums) profile.stacks.push_back({frames_of(stack), bytes});
    if (!profile.stacks.empty()) facts_.profiles.push_back(std::move(profile));
  }

  const model::Snapshot& snapshot_;
  int device_;
  std::int64_t first_us_;
  ExportFacts& facts_;
  History history_;
  const std::vector<model::TraceEntry>* trace_ = nullptr;
};

std::set<int> devices_of(const model::Snapshot& snapshot) {
  std::set<int> devices;
  for (const model::Segment& segment : snapshot.segments) devices.insert(segment.device);
  for (std::size_t i = 0; i < snapshot.traces.size(); ++i) {
    if (!snapshot.traces[i].empty()) devices.insert(static_cast<int>(i));
  }
  return devices;
}

}  // namespace

Result<ExportFacts> facts_of_snapshot(const std::filesystem::path& file) {
  const auto snapshot = ingest::read_snapshot(file);
  if (!snapshot) return std::unexpected(snapshot.error());
  std::int64_t first_us = 0;
  for (const auto& trace : snapshot->traces) {
    if (!trace.empty() && (first_us == 0 || trace.front().time_us < first_us)) first_us = trace.front().time_us;
  }
  ExportFacts facts{.title = file.filename().string(), .begins_ms = first_us / 1000, .has_times = first_us > 0};
  if (snapshot->truncated_at) facts.damage = "not all of it could be read: " + snapshot->damage;
  for (const int device : devices_of(*snapshot)) CardExport(*snapshot, device, first_us, facts).add();
  return facts;
}

}  // namespace vramfit::views
