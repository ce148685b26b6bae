// Watches the virtual cards of running sessions, so that a page can show how a run's memory grew before it was opened.
#ifndef VRAMFIT_HISTORY_LIVE_RUNS_H
#define VRAMFIT_HISTORY_LIVE_RUNS_H

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "model/live_run.h"

namespace vramfit::history {

struct LiveRunsOptions {
  std::filesystem::path session_folder = "/dev/shm";
  std::chrono::milliseconds interval{500};
};

// Has a thread of its own. Any thread may ask.
class LiveRuns {
 public:
  explicit LiveRuns(const LiveRunsOptions& options = {});
  ~LiveRuns();
  LiveRuns(const LiveRuns&) = delete;
  LiveRuns& operator=(const LiveRuns&) = delete;

  // Cards of the sessions that this process made, oldest first; of each, the points later than `after_ms`. What ended
  // is remembered for a while.
  std::vector<model::LiveCard> cards_of(std::int64_t process, std::int64_t after_ms) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Keeps at most `most` points: beyond, two neighbours become the fuller one of them.
class PointTrack {
 public:
  explicit PointTrack(std::size_t most) : most_(most) {}
  void add(const model::LivePoint& point);
  const std::vector<model::LivePoint>& points() const { return points_; }

 private:
  std::size_t most_, stride_ = 1, taken_ = 0;  // samples that one point stands for; of the newest, so many yet
  std::vector<model::LivePoint> points_;
};

}  // namespace vramfit::history

#endif
