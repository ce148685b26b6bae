#include "compare/sequence_diff.h"

#include <algorithm>

namespace vramfit::compare {

namespace {

using Index = std::ptrdiff_t;

constexpr Index kWork = 400'000'000;  // steps along diagonals, some seconds
constexpr Index kLeastEdits = 128, kMostEdits = 2048;

struct EditWindow {
  Index first_begin, first_end, second_begin, second_end;
  Index first_size() const { return first_end - first_begin; }
  Index second_size() const { return second_end - second_begin; }
};

// Equal events from (x, y) to (u, v), counted from the beginning of a stretch, on a shortest way through it.
struct Snake {
  Index x, y, u, v;
};

class Diff {
 public:
  Diff(std::span<const std::uint64_t> first, std::span<const std::uint64_t> second, Index most_edits)
      : first_(first), second_(second), most_edits_(most_edits) {
    const auto size = static_cast<std::size_t>(2 * most_edits + 3);
    forward_.resize(size);
    backward_.resize(size);
  }

  std::vector<Match> run() {
    std::vector<EditWindow> open{{0, std::ssize(first_), 0, std::ssize(second_)}};
    while (!open.empty()) {
      EditWindow stretch = open.back();
      open.pop_back();
      strip(stretch);
      if (stretch.first_size() == 0 || stretch.second_size() == 0) continue;
      const Snake snake = find_snake(stretch);
      add_run(stretch.first_begin + snake.x, stretch.second_begin + snake.y, snake.u - snake.x);
      open.push_back(
          {stretch.first_begin + snake.u, stretch.first_end, stretch.second_begin + snake.v, stretch.second_end});
      open.push_back(
          {stretch.first_begin, stretch.first_begin + snake.x, stretch.second_begin, stretch.second_begin + snake.y});
    }
    std::ranges::sort(matches_, {}, &Match::first);
    return std::move(matches_);
  }

 private:
  bool equal(Index first, Index second) const {
    return first_[static_cast<std::size_t>(first)] == second_[static_cast<std::size_t>(second)];
  }
  void add_run(Index first, Index second, Index count) {
    for (Index i = 0; i < count; ++i) {
      matches_.push_back({static_cast<std::size_t>(first + i), static_cast<std::size_t>(second + i)});
    }
  }
  // What both begin with and end with is common.
  void strip(EditWindow& stretch) {
    while (stretch.first_size() > 0 && stretch.second_size() > 0 && equal(stretch.first_begin, stretch.second_begin)) {
      add_run(stretch.first_begin++, stretch.second_begin++, 1);
    }
    while (stretch.first_size() > 0 && stretch.second_size() > 0 &&
           equal(stretch.first_end - 1, stretch.second_end - 1)) {
      add_run(--stretch.first_end, --stretch.second_end, 1);
    }
  }
  Index& at(std::vector<Index>& line, Index diagonal) {
    return line[static_cast<std::size_t>(diagonal + most_edits_ + 1)];
  }

  // From both ends at once, one edit more in each round, until the two fronts meet on a diagonal:
  //
  //     (0,0) \ _ _            \  equal events
  //                \           _  an event of the first only
  //                 |          |  an event of the second only
  //                  \ _ (n,m)
  Snake find_snake(const EditWindow& stretch) {
    const Index n = stretch.first_size(), m = stretch.second_size();
    const Index delta = n - m, most = std::min((n + m + 1) / 2, most_edits_);
    std::ranges::fill(forward_, 0);
    std::ranges::fill(backward_, 0);
    for (Index edits = 0; edits <= most; ++edits) {
      for (const bool is_forward : {true, false}) {
        if (const Snake met = advance(stretch, edits, delta, is_forward); met.u >= 0) return met;
      }
    }
    return farthest(n, m, most);
  }

  // One more edit on every diagonal; u < 0 while the fronts have not met.
  Snake advance(const EditWindow& stretch, Index edits, Index delta, bool is_forward) {
    const Index n = stretch.first_size(), m = stretch.second_size();
    auto& mine = is_forward ? forward_ : backward_;
    auto& other = is_forward ? backward_ : forward_;
    const Index parity = is_forward ? 1 : 0;
    const Index low = -(edits - 2 * std::max<Index>(0, edits - m)), high = edits - 2 * std::max<Index>(0, edits - n);
    for (Index k = low; k <= high; k += 2) {
      const bool is_down = k == -edits || (k != edits && at(mine, k - 1) < at(mine, k + 1));
      Index a = is_down ? at(mine, k + 1) : at(mine, k - 1) + 1;
      Index b = a - k;
      const Index s = a, t = b;
      while (a < n && b < m &&
             (is_forward ? equal(stretch.first_begin + a, stretch.second_begin + b)
                         : equal(stretch.first_end - 1 - a, stretch.second_end - 1 - b))) {
        ++a, ++b;
      }
      at(mine, k) = a;
      const Index across = delta - k;
      const bool may_meet = ((n + m) % 2 + 2) % 2 == parity && across >= -(edits - parity) && across <= edits - parity;
      if (!may_meet || a + at(other, across) < n) continue;
      return is_forward ? Snake{s, t, a, b} : Snake{n - a, m - b, n - s, m - t};
    }
    return {0, 0, -1, -1};
  }

  // The place where the way from the beginning came farthest.
  Snake farthest(Index n, Index m, Index edits) {
    Snake best{0, 0, 0, 0};
    const Index low = -(edits - 2 * std::max<Index>(0, edits - m)), high = edits - 2 * std::max<Index>(0, edits - n);
    for (Index k = low; k <= high; k += 2) {
      const Index a = std::min(at(forward_, k), n), b = std::min(a - k, m);
      if (b >= 0 && a + b > best.u + best.v) best = {a, b, a, b};
    }
    return best;
  }

  std::span<const std::uint64_t> first_, second_;
  Index most_edits_;
  std::vector<Index> forward_, backward_;  // how far each diagonal came
  std::vector<Match> matches_;
};

}  // namespace

std::vector<Match> common_subsequence(std::span<const std::uint64_t> first, std::span<const std::uint64_t> second,
                                      std::ptrdiff_t most_edits) {
  const Index events = std::max<Index>(1, std::ssize(first) + std::ssize(second));
  if (most_edits <= 0) most_edits = std::clamp(kWork / events, kLeastEdits, kMostEdits);
  return Diff(first, second, most_edits).run();
}

}  // namespace vramfit::compare
