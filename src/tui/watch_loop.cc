#include "tui/watch_loop.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/interrupt.h"
#include "tui/watch_history.h"
#include "tui/watch_view.h"

namespace vramfit::tui {

namespace {

// Quicker than this nobody reads; samples are taken all the same.
constexpr std::int64_t kDrawNs = 100'000'000;

class Loop {
 public:
  Loop(watch::Watch& watch, TerminalScreen& screen, const LoopOptions& options)
      : watch_(watch), screen_(screen), options_(options), state_(options.state) {}

  base::Result<void> run() {
    const base::Clock& clock = base::steady_clock();
    std::int64_t due = clock.now_ns(), drawn = due - kDrawNs;
    std::int64_t samples = 0;
    while (!state_.quit && !screen_.is_gone() && base::take_interrupt() == 0) {
      const std::int64_t now = clock.now_ns();
      if (now >= due) {
        const auto more = take_sample();
        if (!more) return std::unexpected(more.error());
        due = std::max(due + options_.interval_ns, now);             // a slow reading is not made up for
        if (!*more) due = std::numeric_limits<std::int64_t>::max();  // the last picture of a recording stays
        must_draw_ = true;
        if (options_.most_samples > 0 && ++samples >= options_.most_samples) state_.quit = true;
      }
      if (screen_.size() != size_) must_draw_ = true;
      if (must_draw_ && (clock.now_ns() - drawn >= kDrawNs || pressed_)) {
        draw();
        drawn = clock.now_ns();
      }
      const std::int64_t next = must_draw_ ? std::min(due, drawn + kDrawNs) : due;
      pressed_ = false;
      constexpr std::int64_t kLongestWaitNs = 3'600'000'000'000;
      const std::int64_t wait = std::clamp<std::int64_t>(next - clock.now_ns(), 0, kLongestWaitNs);
      if (const auto key = screen_.wait_for_key(wait)) {
        press(state_, *key, choices_);
        pressed_ = must_draw_ = true;
      }
    }
    return {};
  }

 private:
  // False at the end of a recording. A pause stops the picture, not the recording, alerts and metrics.
  base::Result<bool> take_sample() {
    auto tick = watch_.tick();
    if (!tick) return std::unexpected(tick.error());
    if (!*tick) return false;
    history_.add((*tick)->sample);
    if (!state_.paused || !tick_) tick_ = std::move(*tick);
    return true;
  }

  void draw() {
    must_draw_ = false;
    size_ = screen_.size();
    if (!tick_) return;
    std::vector<std::string> alerts;
    for (const auto& alert : tick_->alerts) alerts.push_back(alert.text);
    for (const auto& problem : tick_->problems) alerts.push_back(problem);
    const WatchView view = build_watch_view(tick_->sample, state_, alerts);
    choices_ = {.rows = static_cast<int>(view.processes.size()), .cards = card_labels(tick_->sample)};
    state_.selected = std::clamp(state_.selected, 0, std::max(choices_.rows - 1, 0));
    screen_.show(draw_watch(view, history_, state_, options_.look, size_));
  }

  watch::Watch& watch_;
  TerminalScreen& screen_;
  const LoopOptions& options_;
  WatchState state_;
  WatchHistory history_;
  std::optional<watch::WatchTick> tick_;
  Size size_{0, 0};
  Choices choices_;
  bool must_draw_ = true, pressed_ = false;
};

}  // namespace

base::Result<void> watch_on_screen(watch::Watch& watch, TerminalScreen& screen, const LoopOptions& options) {
  return Loop(watch, screen, options).run();
}

}  // namespace vramfit::tui
