#include "history/live_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "probe/ledger_source.h"
#include "probe/machine_probe.h"

namespace vramfit::history {

using base::Bytes;
using model::LiveCard;
using model::LivePoint;

namespace {

constexpr std::size_t kMostPoints = 1200;
constexpr std::size_t kMostCards = 512;  // remembered; the oldest of those that ended go first

struct Track {
  std::int64_t process = 0;  // that made the session
  LiveCard card;             // without points
  PointTrack points{kMostPoints};
};

const LivePoint& fuller(const LivePoint& left, const LivePoint& right) {
  return right.used >= left.used ? right : left;
}

}  // namespace

void PointTrack::add(const LivePoint& point) {
  if (taken_ == 0 || points_.empty()) {
    points_.push_back(point);
  } else {
    points_.back() = fuller(points_.back(), point);
  }
  taken_ = (taken_ + 1) % stride_;
  if (points_.size() < most_ || taken_ != 0) return;
  std::vector<LivePoint> half;
  for (std::size_t i = 0; i + 1 < points_.size(); i += 2) half.push_back(fuller(points_[i], points_[i + 1]));
  if (points_.size() % 2 == 1) half.push_back(points_.back());
  points_ = std::move(half);
  stride_ *= 2;
}

struct LiveRuns::State {
  explicit State(const LiveRunsOptions& given) : options(given), ledgers(given.session_folder, 0) {}

  // PyTorch's own figures of one process, as its recording last told them.
  void add_allocator(const probe::ListedUse& use, int index, LivePoint& point) {
    const probe::KnownProcess& known = processes.look(use.pid, now_ns);
    if (known.run_folder.empty()) return;
    const auto path = std::filesystem::path(known.run_folder) / fmt::format("recording.{}.vfr", use.pid);
    auto& last = allocators[{use.pid, known.started_ticks}];
    if (const auto tail = probe::read_recording_tail(path)) {
      for (const auto& [device, reading] : *tail) last[device] = reading;
    }
    model::CardReading card{.uuid = use.use.card};
    card.index = index;
    const auto found = last.find(probe::device_number(known, card));
    if (found == last.end()) return;
    point.allocated = point.allocated.value_or(Bytes()) + Bytes(found->second.allocated_bytes);
    point.reserved = point.reserved.value_or(Bytes()) + Bytes(found->second.reserved_bytes);
  }

  void read_session(const probe::LedgerView& view, std::int64_t at_ms) {
    model::MachineSample sample;
    std::vector<probe::ListedUse> uses;
    probe::list_uses(view.ledger(), view.session(), sample, uses);
    for (const model::CardReading& reading : sample.cards) {
      const int index = static_cast<int>(reading.index.value_or(0));
      LivePoint point{.at_ms = at_ms, .used = Bytes(reading.used_bytes.value_or(0))};
      for (const probe::ListedUse& use : uses) {
        if (use.use.card == reading.uuid) add_allocator(use, index, point);
      }
      const std::lock_guard guard(lock);
      Track& track = track_of(view, index);
      track.card.name = reading.name;
      track.card.total = Bytes(reading.total_bytes.value_or(0));
      track.card.used = point.used;
      track.card.peak = Bytes(reading.peak_used_bytes.value_or(0));
      track.card.is_alive = true;
      track.points.add(point);
    }
  }

  Track& track_of(const probe::LedgerView& view, int index) {
    const std::string session = view.session();
    for (Track& track : tracks) {
      if (track.card.session == session && track.card.index == index) return track;
    }
    if (tracks.size() >= kMostCards) {
      const auto ended = std::ranges::find(tracks, false, [](const Track& track) { return track.card.is_alive; });
      if (ended != tracks.end()) tracks.erase(ended);
    }
    Track& added = tracks.emplace_back();
    added.process = view.owner();
    added.card.session = session;
    added.card.index = index;
    return added;
  }

  void look() {
    now_ns = base::steady_clock().now_ns();
    const std::int64_t at_ms = base::unix_now_ms();
    const auto& sessions = ledgers.sessions(now_ns);
    for (const probe::LedgerView& view : sessions) read_session(view, at_ms);
    processes.forget_before(now_ns);
    std::erase_if(allocators, [](const auto& item) { return item.second.empty(); });
    const std::lock_guard guard(lock);
    for (Track& track : tracks) {
      track.card.is_alive = std::ranges::any_of(
          sessions, [&](const probe::LedgerView& view) { return view.session() == track.card.session; });
    }
    if (sessions.empty()) allocators.clear();
  }

  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      look();
      std::unique_lock guard(pause_lock);
      pause.wait_for(guard, stop, options.interval, [] { return false; });
    }
  }

  LiveRunsOptions options;
  // Used by the watching thread alone:
  probe::LedgerSource ledgers;
  probe::ProcessTable processes;
  std::map<std::pair<std::int64_t, std::int64_t>, std::map<int, probe::AllocatorReading>> allocators;
  std::int64_t now_ns = 0;
  // Used by all threads:
  mutable std::mutex lock;
  std::vector<Track> tracks;
  std::mutex pause_lock;
  std::condition_variable_any pause;
  std::jthread thread;  // last: it ends before the rest goes
};

LiveRuns::LiveRuns(const LiveRunsOptions& options) : state_(std::make_unique<State>(options)) {
  state_->thread = std::jthread([state = state_.get()](const std::stop_token& stop) { state->run(stop); });
}

LiveRuns::~LiveRuns() = default;

std::vector<LiveCard> LiveRuns::cards_of(std::int64_t process, std::int64_t after_ms) const {
  const std::lock_guard guard(state_->lock);
  std::vector<LiveCard> cards;
  for (const Track& track : state_->tracks) {
    if (track.process != process) continue;
    LiveCard& card = cards.emplace_back(track.card);
    std::ranges::copy_if(track.points.points(), std::back_inserter(card.points),
                         [&](const LivePoint& point) { return point.at_ms > after_ms; });
  }
  return cards;
}

}  // namespace vramfit::history
