#include "report/page/network_layout.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace vramfit::report::page {

namespace {

constexpr int kOrderSweeps = 12;
constexpr int kPlaceSweeps = 8;

// A box, or the place of a line in a layer that it only passes.
struct Item {
  double width = 0, height = 0;
  std::size_t layer = 0;
  double center = 0;
  double order = 0;
  std::vector<std::size_t> above, below;
};

class Sketch {
 public:
  Sketch(const std::vector<BoxSize>& sizes, const std::vector<Line>& lines, const LayoutSpacing& spacing)
      : sizes_(sizes), lines_(lines), spacing_(spacing), items_(sizes.size()) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      items_[i].width = sizes[i].width;
      items_[i].height = sizes[i].height;
    }
  }

  Layout draw() {
    turn_cycles();
    find_layers();
    thread_lines();
    order_layers();
    place_items();
    return finish();
  }

 private:
  // Lines that close a cycle count the other way round. Depth first, in the order of the boxes.
  void turn_cycles() {
    std::vector<std::vector<std::size_t>> outgoing(sizes_.size());
    for (std::size_t i = 0; i < lines_.size(); ++i) outgoing[lines_[i].from].push_back(i);
    is_turned_.assign(lines_.size(), false);
    enum class State { kNew, kOpen, kDone };
    std::vector<State> states(sizes_.size(), State::kNew);
    std::vector<std::pair<std::size_t, std::size_t>> open;  // box, next of its lines
    for (std::size_t start = 0; start < sizes_.size(); ++start) {
      if (states[start] != State::kNew) continue;
      open.emplace_back(start, 0);
      states[start] = State::kOpen;
      while (!open.empty()) {
        auto& [box, next] = open.back();
        if (next == outgoing[box].size()) {
          states[box] = State::kDone;
          open.pop_back();
          continue;
        }
        const std::size_t line = outgoing[box][next++];
        const std::size_t to = lines_[line].to;
        if (states[to] == State::kOpen) is_turned_[line] = true;
        if (states[to] != State::kNew) continue;
        states[to] = State::kOpen;
        open.emplace_back(to, 0);
      }
    }
  }

  std::size_t upper(std::size_t line) const { return is_turned_[line] ? lines_[line].to : lines_[line].from; }
  std::size_t lower(std::size_t line) const { return is_turned_[line] ? lines_[line].from : lines_[line].to; }
  bool is_loop(std::size_t line) const { return lines_[line].from == lines_[line].to; }

  // The longest way from the top; then whatever nothing leads to moves down to what it leads to.
  void find_layers() {
    for (std::size_t round = 0, changed = 1; changed != 0 && round <= sizes_.size(); ++round) {
      changed = 0;
      for (std::size_t line = 0; line < lines_.size(); ++line) {
        Item& below = items_[lower(line)];
        const std::size_t least = items_[upper(line)].layer + 1;
        if (is_loop(line) || below.layer >= least) continue;
        below.layer = least;
        changed = 1;
      }
    }
    constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> nearest(sizes_.size(), kNone);
    std::vector<bool> is_root(sizes_.size(), true);
    for (std::size_t line = 0; line < lines_.size(); ++line) {
      if (is_loop(line)) continue;
      is_root[lower(line)] = false;
      nearest[upper(line)] = std::min(nearest[upper(line)], items_[lower(line)].layer);
    }
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      if (is_root[i] && nearest[i] != kNone) items_[i].layer = nearest[i] - 1;
    }
  }

  void thread_lines() {
    ways_.resize(lines_.size());
    for (std::size_t line = 0; line < lines_.size(); ++line) {
      if (is_loop(line)) continue;
      std::size_t last = upper(line);
      for (std::size_t layer = items_[last].layer + 1; layer < items_[lower(line)].layer; ++layer) {
        items_.push_back({.width = spacing_.way_width, .layer = layer});
        join(last, items_.size() - 1);
        last = items_.size() - 1;
        ways_[line].push_back(last);
      }
      join(last, lower(line));
    }
    std::size_t layers = 0;
    for (const Item& item : items_) layers = std::max(layers, item.layer + 1);
    layers_.resize(layers);
    for (std::size_t i = 0; i < items_.size(); ++i) layers_[items_[i].layer].push_back(i);
  }

  void join(std::size_t above, std::size_t below) {
    items_[above].below.push_back(below);
    items_[below].above.push_back(above);
  }

  void number_layers() {
    for (const auto& layer : layers_) {
      for (std::size_t i = 0; i < layer.size(); ++i) items_[layer[i]].order = static_cast<double>(i);
    }
  }

  double mean_order(std::size_t item, bool of_above) const {
    const auto& near = of_above ? items_[item].above : items_[item].below;
    if (near.empty()) return items_[item].order;
    double sum = 0;
    for (const std::size_t other : near) sum += items_[other].order;
    return sum / static_cast<double>(near.size());
  }

  std::size_t count_crossings() const {
    std::size_t crossings = 0;
    for (const auto& layer : layers_) {
      std::vector<std::pair<double, double>> lines;
      for (const std::size_t item : layer) {
        for (const std::size_t below : items_[item].below) lines.emplace_back(items_[item].order, items_[below].order);
      }
      for (std::size_t i = 0; i < lines.size(); ++i) {
        for (std::size_t j = i + 1; j < lines.size(); ++j) {
          crossings += (lines[i].first - lines[j].first) * (lines[i].second - lines[j].second) < 0 ? 1 : 0;
        }
      }
    }
    return crossings;
  }

  // Everything moves to the middle of what it is joined to, downwards and upwards in turn; the best order is kept.
  void order_layers() {
    number_layers();
    auto best = layers_;
    std::size_t fewest = count_crossings();
    for (int sweep = 0; sweep < kOrderSweeps && fewest > 0; ++sweep) {
      const bool is_down = sweep % 2 == 0;
      for (std::size_t i = 0; i < layers_.size(); ++i) {
        auto& layer = layers_[is_down ? i : layers_.size() - 1 - i];
        std::map<std::size_t, double> wanted;
        for (const std::size_t item : layer) wanted[item] = mean_order(item, is_down);
        std::ranges::stable_sort(layer, {}, [&](std::size_t item) { return wanted[item]; });
        for (std::size_t k = 0; k < layer.size(); ++k) items_[layer[k]].order = static_cast<double>(k);
      }
      const std::size_t crossings = count_crossings();
      if (crossings >= fewest) continue;
      fewest = crossings;
      best = layers_;
    }
    layers_ = best;
    number_layers();
  }

  double gap(std::size_t left, std::size_t right) const {
    return (items_[left].width + items_[right].width) / 2 + spacing_.between_boxes;
  }

  // Centres as near to the wanted ones as the order and the widths allow: least squares, by pooling neighbours that
  // would overlap (isotonic regression).
  void settle(const std::vector<std::size_t>& layer, const std::vector<double>& wanted) {
    struct Pool {
      double sum;
      std::size_t count;
    };
    std::vector<Pool> pools;
    double offset = 0;
    for (std::size_t i = 0; i < layer.size(); ++i) {
      if (i > 0) offset += gap(layer[i - 1], layer[i]);
      pools.push_back({wanted[i] - offset, 1});
      while (pools.size() > 1) {
        const Pool& last = pools.back();
        Pool& before = pools[pools.size() - 2];
        if (before.sum / static_cast<double>(before.count) <= last.sum / static_cast<double>(last.count)) break;
        before.sum += last.sum;
        before.count += last.count;
        pools.pop_back();
      }
    }
    std::size_t next = 0;
    offset = 0;
    for (const Pool& pool : pools) {
      for (std::size_t i = 0; i < pool.count; ++i, ++next) {
        if (next > 0) offset += gap(layer[next - 1], layer[next]);
        items_[layer[next]].center = pool.sum / static_cast<double>(pool.count) + offset;
      }
    }
  }

  double mean_center(std::size_t item, bool of_above) const {
    const auto& near = of_above ? items_[item].above : items_[item].below;
    if (near.empty()) return items_[item].center;
    double sum = 0;
    for (const std::size_t other : near) sum += items_[other].center;
    return sum / static_cast<double>(near.size());
  }

  void place_items() {
    for (const auto& layer : layers_) settle(layer, std::vector<double>(layer.size(), 0));
    for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
      const bool is_down = sweep % 2 == 0;
      for (std::size_t i = 0; i < layers_.size(); ++i) {
        const auto& layer = layers_[is_down ? i : layers_.size() - 1 - i];
        std::vector<double> wanted;
        for (const std::size_t item : layer) wanted.push_back(mean_center(item, is_down));
        settle(layer, wanted);
      }
    }
  }

  Layout finish() {
    double left = std::numeric_limits<double>::max(), right = std::numeric_limits<double>::lowest();
    for (const Item& item : items_) {
      left = std::min(left, item.center - item.width / 2);
      right = std::max(right, item.center + item.width / 2);
    }
    Layout layout;
    if (items_.empty()) return layout;
    std::vector<double> tops, heights;
    double y = spacing_.margin;
    for (const auto& layer : layers_) {
      double height = 0;
      for (const std::size_t item : layer) height = std::max(height, items_[item].height);
      tops.push_back(y);
      heights.push_back(height);
      y += height + spacing_.between_layers;
    }
    const double shift = spacing_.margin - left;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const Item& item = items_[i];
      layout.boxes.push_back(
          {item.center - item.width / 2 + shift, tops[item.layer] + (heights[item.layer] - item.height) / 2});
    }
    for (std::size_t line = 0; line < lines_.size(); ++line) {
      if (is_loop(line)) continue;
      Route route{lines_[line].from, lines_[line].to, is_turned_[line], {}};
      const std::size_t top = upper(line), bottom = lower(line);
      route.points.push_back({items_[top].center + shift, layout.boxes[top].y + items_[top].height});
      const std::size_t first = items_[top].layer, last = items_[bottom].layer;
      // Upright until it has left its layer: a taller box may stand beside this one.
      route.points.push_back({items_[top].center + shift, tops[first] + heights[first]});
      for (const std::size_t way : ways_[line]) {
        const std::size_t layer = items_[way].layer;
        route.points.push_back({items_[way].center + shift, tops[layer]});
        if (heights[layer] > 0) route.points.push_back({items_[way].center + shift, tops[layer] + heights[layer]});
      }
      route.points.push_back({items_[bottom].center + shift, tops[last]});
      route.points.push_back({items_[bottom].center + shift, layout.boxes[bottom].y});
      if (route.is_backward) std::ranges::reverse(route.points);
      layout.routes.push_back(std::move(route));
    }
    layout.width = right - left + 2 * spacing_.margin;
    layout.height = y - spacing_.between_layers + spacing_.margin;
    return layout;
  }

  const std::vector<BoxSize>& sizes_;
  const std::vector<Line>& lines_;
  LayoutSpacing spacing_;
  std::vector<Item> items_;  // the boxes, then the places of lines
  std::vector<bool> is_turned_;
  std::vector<std::vector<std::size_t>> ways_;    // of each line: its places, from top to bottom
  std::vector<std::vector<std::size_t>> layers_;  // items from left to right
};

}  // namespace

Layout lay_out(const std::vector<BoxSize>& sizes, const std::vector<Line>& lines, const LayoutSpacing& spacing) {
  return Sketch(sizes, lines, spacing).draw();
}

}  // namespace vramfit::report::page
