#include "tui/watch_draw.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "report/layout.h"
#include "report/watch_time.h"
#include "tui/watch_help.h"

namespace vramfit::tui {

using std::string_view_literals::operator""sv;

namespace {

constexpr int kNarrowScreen = 60, kWideScreen = 110;
constexpr int kGraphRows = 6, kGraphColumns = 80, kGraphGap = 2, kLeastProcessRows = 4, kTorchIndent = 8;

Style style_of(Level level) {
  return level == Level::kBad ? Style::kBad : level == Level::kNote ? Style::kWarn : Style::kDim;
}

Style style_of_share(double fraction) {
  constexpr double kNearlyFull = 0.95, kHigh = 0.8;
  return fraction >= kNearlyFull ? Style::kBad : fraction >= kHigh ? Style::kWarn : Style::kGood;
}

class Drawing {
 public:
  Drawing(const WatchView& view, const WatchHistory& history, const WatchState& state, const Look& look, Size size)
      : view_(view),
        history_(history),
        state_(state),
        look_(look),
        grid_(size),
        width_(grid_.size().columns),
        height_(grid_.size().rows) {}

  CellGrid draw() {
    const int bottom = height_ - (look_.keys ? 1 : 0);
    draw_head();
    if (state_.help) {
      draw_help(bottom);
    } else {
      const int room = bottom - row_ - wanted_process_rows();
      draw_cards(room, bottom);
      draw_graph(bottom);
      draw_processes(bottom);
    }
    if (look_.keys) draw_keys();
    return std::move(grid_);
  }

 private:
  std::string mark() const { return look_.unicode ? "…" : "~"; }
  bool is_narrow() const { return width_ < kNarrowScreen; }

  void line(std::string_view text, Style style, int indent = 0) {
    grid_.put(indent, row_++, fit(text, width_ - indent, mark()), style);
  }

  void draw_head() {
    const int clock = grid_.put_right(width_, row_, view_.clock, Style::kDim);
    int at = grid_.put(0, row_, is_narrow() ? "vramfit" : "vramfit watch", Style::kBold);
    std::vector<std::pair<std::string, Style>> pieces = {{view_.title, Style::kPlain}, {view_.driver, Style::kDim}};
    if (state_.paused) pieces.insert(pieces.begin(), {"PAUSED", Style::kWarn});
    pieces.emplace_back(look_.notes, Style::kAccent);
    for (const auto& [text, style] : pieces) {
      const int room = clock - 2 - (at + 2);
      if (!text.empty() && room > 3) at = grid_.put(at + 2, row_, fit(text, room, mark()), style);
    }
    ++row_;
    if (state_.help) return;  // the help takes all rows of a small window
    std::string host;
    for (const std::string& piece : view_.host) {
      const std::string longer = host.empty() ? piece : host + "  " + piece;
      if (columns_of(longer) <= width_) host = longer;
    }
    if (!host.empty()) line(host, Style::kDim);
    for (const Remark& remark : view_.remarks) {
      std::istringstream text(report::wrap("! " + remark.text, static_cast<std::size_t>(width_), 2));
      for (std::string one; std::getline(text, one) && row_ < height_ / 3 + 1;) line(one, style_of(remark.level));
    }
  }

  // ── cards ──────────────────────────────────────────────────────────────
  static int rows_of(const CardView& card, int detail) {
    const int remarks = detail == 0 ? 0 : static_cast<int>(card.remarks.size());
    return (detail == 0 ? 1 : 2) + (detail == 2 && !card.links.empty() ? 1 : 0) + remarks;
  }
  int rows_of_all(int detail) const {
    int rows = 0;
    for (const CardView& card : view_.cards) rows += rows_of(card, detail);
    return rows;
  }

  void draw_cards(int room, int bottom) {
    if (view_.cards.empty()) {
      if (view_.remarks.empty() && view_.all_cards == 0) line("no cards", Style::kDim);
      return;
    }
    int detail = is_narrow() ? 0 : 2;
    while (detail > 0 && rows_of_all(detail) > room) --detail;
    // The list of processes keeps its rows however many cards there are.
    const int last = std::min(bottom, row_ + std::max(room, 1));
    for (std::size_t i = 0; i < view_.cards.size(); ++i) {
      const bool is_last = i + 1 == view_.cards.size();
      if (row_ + rows_of(view_.cards[i], detail) > last - (is_last ? 0 : 1) && row_ < bottom) {
        line(fmt::format("{} more cards: a taller window shows them", view_.cards.size() - i), Style::kDim);
        break;
      }
      detail == 0 ? draw_compact(view_.cards[i]) : draw_card(view_.cards[i], detail);
    }
  }

  void draw_bar(int column, int columns, const std::optional<double>& fraction) {
    if (columns < 4) return;
    const double share = std::clamp(fraction.value_or(0), 0.0, 1.0);
    if (!look_.unicode) {
      const int full = static_cast<int>(std::lround(share * (columns - 2)));
      grid_.put(column, row_,
                "[" + std::string(static_cast<std::size_t>(full), '#') +
                    std::string(static_cast<std::size_t>(columns - 2 - full), fraction ? '.' : '?') + "]",
                style_of_share(share));
      return;
    }
    const int eighths = static_cast<int>(std::lround(share * columns * 8));
    static constexpr std::array<std::string_view, 8> kParts = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int at = column;
    for (int i = 0; i < eighths / 8; ++i) at = grid_.put(at, row_, "█", style_of_share(share));
    at = grid_.put(at, row_, kParts[static_cast<std::size_t>(eighths % 8)], style_of_share(share));
    while (at < column + columns) at = grid_.put(at, row_, fraction ? "░" : "·", Style::kDim);
  }

  static std::string memory_text(const CardView& card) {
    return card.used == "-" && card.total == "-" ? "memory unknown" : fmt::format("{} of {}", card.used, card.total);
  }

  void draw_card(const CardView& card, int detail) {
    const int indent = card.is_slice ? 4 : 0;
    int at = grid_.put(indent, row_, fmt::format("{:>2} ", card.index), Style::kBold);
    std::string right = fmt::format("{}  {}", card.temperature, card.power);
    if (card.is_slice || card.is_lost) right.clear();
    const int end = grid_.put_right(width_, row_, right) - 2;
    at = grid_.put(at, row_, fit(card.name, std::max(end - at, 4), mark()), card.is_lost ? Style::kBad : Style::kBold);
    if (end - at > 14) grid_.put(at + 2, row_, fit(card.id, end - at - 2, mark()), Style::kDim);
    ++row_;
    const std::string text = memory_text(card);
    const std::string busy = card.is_slice || card.is_lost ? "" : fmt::format("busy {}", card.busy);
    constexpr int kTextColumns = 36;
    const int bar = std::max(width_ - (indent + 3) - kTextColumns, 4);
    draw_bar(indent + 3, bar, card.fraction);
    grid_.put(indent + 3 + bar + 1, row_, text, Style::kPlain);
    grid_.put_right(width_, row_, busy, Style::kAccent);
    ++row_;
    if (detail == 2 && !card.links.empty()) line(card.links, Style::kDim, indent + 3);
    for (const Remark& remark : card.remarks) line("! " + remark.text, style_of(remark.level), indent + 3);
  }

  void draw_compact(const CardView& card) {
    const bool alarmed =
        std::ranges::any_of(card.remarks, [](const Remark& one) { return one.level != Level::kQuiet; });
    const std::string flag = alarmed ? "!" : " ";
    int at = grid_.put(card.is_slice ? 1 : 0, row_, fmt::format("{:>2}{}", card.index, flag),
                       alarmed ? Style::kBad : Style::kBold);
    if (card.is_lost) {
      line(fmt::format("{}  {}", is_narrow() ? "" : card.name, card.remarks.empty() ? "" : card.remarks.front().text),
           Style::kBad, at);
      return;
    }
    std::string right = is_narrow() ? fmt::format("{:>5}", card.busy)
                                    : fmt::format("{:>5} {:>5} {:>9}", card.busy, card.temperature, card.power);
    right = fmt::format("{:>{}}  {}", memory_text(card), is_narrow() ? 0 : 24, right);
    const int end = grid_.put_right(width_, row_, right) - 1;
    if (!is_narrow()) {
      const int name = std::min(26, std::max(end - at - 8, 0));
      constexpr std::string_view kMaker = "NVIDIA ";
      std::string_view model = card.name;
      if (model.starts_with(kMaker)) model.remove_prefix(kMaker.size());
      grid_.put(at, row_, fit(model, name, mark()));
      at += name + 1;
    }
    draw_bar(at, end - at, card.fraction);
    ++row_;
  }

  // ── history ────────────────────────────────────────────────────────────
  // Beside each other where the screen is wide enough for several.
  void draw_graph(int bottom) {
    if (!state_.graph || !look_.keys || is_narrow()) return;
    std::vector<const CardView*> cards;
    for (const CardView& card : view_.cards) {
      if (!card.is_slice && !card.is_lost) cards.push_back(&card);
    }
    if (cards.empty()) return;
    const int across = std::clamp(width_ / kGraphColumns, 1, static_cast<int>(cards.size()));
    const int columns = (width_ - (across - 1) * kGraphGap) / across;
    int room = bottom - row_ - wanted_process_rows();
    for (std::size_t i = 0; i < cards.size() && room >= kGraphRows; room -= kGraphRows) {
      for (int place = 0; place < across && i < cards.size(); ++place, ++i) {
        draw_one_graph(*cards[i], place * (columns + kGraphGap), columns);
      }
      row_ += kGraphRows;
    }
  }

  // Memory in blocks; how busy the card was is the line of dots above or on them.
  void draw_one_graph(const CardView& card, int left, int width) {
    constexpr int kAxis = 5, kLevels = kGraphRows - 1;
    const auto points = history_.last(card.uuid, width - kAxis, state_.stride);
    const double seconds = look_.interval_seconds * state_.stride * (width - kAxis);
    const std::string title = fmt::format("GPU {}: memory {}  busy {}  last {}", card.index, look_.unicode ? "█" : "#",
                                          look_.unicode ? "•" : "*", report::to_age(std::lround(seconds)));
    grid_.put(left, row_, fit(title, width, mark()), Style::kDim);
    const int first = left + width - static_cast<int>(points.size());
    for (int level = 0; level < kLevels; ++level) {
      const int row = row_ + 1 + level;
      grid_.put(left, row, level == 0 ? "100%" : level == kLevels - 1 ? "  0%" : "", Style::kDim);
      for (std::size_t i = 0; i < points.size(); ++i)
        draw_point(first + static_cast<int>(i), row, kLevels - 1 - level, kLevels, points[i]);
    }
  }

  void draw_point(int column, int row, int level, int levels, const HistoryPoint& point) {
    const auto height = [&](float share) { return std::clamp(share, 0.0f, 1.0f) * static_cast<float>(levels); };
    // A column without a mark is a card that holds nothing; one that does not tell has a mark of its own.
    if (!point.memory && level == 0) grid_.put(column, row, look_.unicode ? "·" : "?", Style::kDim);
    if (point.memory) {
      const float filled = height(*point.memory) - static_cast<float>(level);
      static constexpr std::array<std::string_view, 9> kParts = {"", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
      const int eighths = std::clamp(static_cast<int>(std::lround(filled * 8)), 0, 8);
      const std::string_view part = look_.unicode ? kParts[static_cast<std::size_t>(eighths)] : eighths >= 4 ? "#" : "";
      grid_.put(column, row, part, style_of_share(*point.memory));
    }
    if (point.busy && *point.busy > 0) {
      const int at = std::min(static_cast<int>(height(*point.busy)), levels - 1);
      if (at == level) grid_.put(column, row, look_.unicode ? "•" : "*", Style::kAccent);
    }
  }

  // ── processes ──────────────────────────────────────────────────────────
  int rows_of_processes() const {
    int rows = 1;
    for (const ProcessView& process : view_.processes) rows += 1 + static_cast<int>(torch_lines(process).size());
    return rows;
  }
  std::vector<std::string> torch_lines(const ProcessView& process) const {
    std::vector<std::string> lines;
    if (process.torch.empty() || is_narrow()) return lines;
    std::istringstream text(report::wrap(process.torch, static_cast<std::size_t>(width_ - kTorchIndent), 2));
    for (std::string one; std::getline(text, one);) lines.push_back(std::move(one));
    return lines;
  }
  int wanted_process_rows() const {
    return std::min(rows_of_processes(), std::max(3 * height_ / 10, kLeastProcessRows));
  }

  struct Column {
    std::string_view title;
    std::string ProcessView::*text;
    int columns;
    bool right;
  };

  std::vector<Column> columns() const {
    using P = ProcessView;
    if (is_narrow()) return {{"PID", &P::pid, 7, true}, {"GPU", &P::card, 3, false}, {"MEMORY", &P::memory, 9, true}};
    std::vector<Column> result = {{"PID", &P::pid, 7, true},        {"USER", &P::user, 8, false},
                                  {"GPU", &P::card, 4, false},      {"RANK", &P::rank, 5, false},
                                  {"MEMORY", &P::memory, 10, true}, {"SM", &P::busy, 5, true},
                                  {"SINCE", &P::since, 6, true}};
    const auto has = [&](std::string P::*text) {
      return std::ranges::any_of(view_.processes, [&](const P& one) { return !(one.*text).empty(); });
    };
    if (!has(&P::rank)) std::erase_if(result, [](const Column& one) { return one.text == &P::rank; });
    if (has(&P::where)) result.push_back({"WHERE", &P::where, width_ >= kWideScreen ? 24 : 8, false});
    return result;
  }

  int put_columns(const std::vector<Column>& all, const ProcessView* process, Style style) {
    int at = 0;
    for (const Column& column : all) {
      const std::string text =
          fit(process == nullptr ? column.title : std::string_view(process->*column.text), column.columns, mark());
      if (column.right) {
        grid_.put_right(at + column.columns, row_, text, style);
      } else {
        grid_.put(at, row_, text, style);
      }
      at += column.columns + 1;
    }
    return at;
  }

  void draw_processes(int bottom) {
    if (row_ >= bottom) return;
    const auto all = columns();
    const int command = put_columns(all, nullptr, Style::kDim);
    std::vector<std::string> left_out;
    if (view_.hidden > 0) left_out.push_back(fmt::format("{} filtered out", view_.hidden));
    if (view_.elsewhere > 0) left_out.push_back(fmt::format("{} on other cards", view_.elsewhere));
    grid_.put(command, row_, left_out.empty() ? "COMMAND" : fmt::format("COMMAND ({})", fmt::join(left_out, ", ")),
              Style::kDim);
    ++row_;
    if (view_.processes.empty()) {
      const std::string_view why = view_.hidden > 0      ? "no process matches the filter"
                                   : view_.elsewhere > 0 ? "no process uses this card"
                                                         : "no process uses a card";
      if (row_ < bottom) line(why, Style::kDim);
      return;
    }
    const auto count = static_cast<int>(view_.processes.size());
    const int room = bottom - row_;
    const int selected = std::min(state_.selected, count - 1);
    int first = look_.keys ? std::max(0, selected - room / 2) : 0;
    for (int i = first; i < count && row_ < bottom; ++i) {
      const bool no_room = row_ == bottom - 1 && i + 1 < count;
      if (no_room && !look_.keys) {
        line(fmt::format("{} more processes", count - i), Style::kDim);
        return;
      }
      draw_process(all, command, view_.processes[static_cast<std::size_t>(i)], look_.keys && i == selected, bottom);
    }
  }

  void draw_process(const std::vector<Column>& all, int command, const ProcessView& process, bool selected,
                    int bottom) {
    const Style style = process.level == Level::kQuiet ? Style::kPlain : style_of(process.level);
    put_columns(all, &process, style);
    std::string indent(static_cast<std::size_t>(std::min(process.depth, 8) * 2), ' ');
    if (process.depth > 0) indent.replace(indent.size() - 2, 2, look_.unicode ? "└ " : "\\ ");
    grid_.put(command, row_, fit(indent + process.command, width_ - command, mark()), style);
    if (selected) grid_.paint(row_, Style::kSelected);
    ++row_;
    for (const std::string& text : torch_lines(process)) {
      if (row_ < bottom) line(text, Style::kDim, kTorchIndent);
    }
  }

  // ── the rest ───────────────────────────────────────────────────────────
  void draw_help(int bottom) {
    for (const auto& lines : {key_lines(), mark_lines(look_.unicode)}) {
      for (const std::string& text : lines) {
        if (row_ < bottom) line(text, Style::kPlain, 1);
      }
    }
  }

  void draw_keys() {
    row_ = height_ - 1;
    if (state_.typing) return line("/" + state_.filter + (look_.unicode ? "▏" : "_"), Style::kBold);
    std::string text = fmt::format("q quit  / filter  s sort: {}{}  t tree{}", to_string(state_.sort),
                                   state_.reversed ? " reversed" : "", state_.tree && !is_narrow() ? " on" : "");
    if (!state_.filter.empty()) text = fmt::format("Esc clears the filter \"{}\"  {}", state_.filter, text);
    if (is_narrow()) return line(text, Style::kDim);
    // What leads to all the others stays, whatever there is room for.
    constexpr std::string_view kHelp = "  h help";
    const std::string cards = !state_.cards.empty() ? fmt::format("  0-9 card, a all {}", view_.all_cards)
                              : view_.all_cards > 1 ? "  0-9 card"
                                                    : "";
    for (const std::string_view piece : {std::string_view(cards), "  g graph"sv, "  space pause"sv}) {
      if (columns_of(text) + columns_of(piece) + columns_of(kHelp) <= width_) text += piece;
    }
    line(fmt::format("{}{}", text, kHelp), Style::kDim);
  }

  const WatchView& view_;
  const WatchHistory& history_;
  const WatchState& state_;
  const Look& look_;
  CellGrid grid_;
  int width_, height_;
  int row_ = 0;
};

}  // namespace

CellGrid draw_watch(const WatchView& view, const WatchHistory& history, const WatchState& state, const Look& look,
                    Size size) {
  return Drawing(view, history, state, look, size).draw();
}

CellGrid draw_all(const WatchView& view, const Look& look, int columns) {
  // Never more than four rows and the remarks for a card, two for a process.
  int rows = 8 + static_cast<int>(view.remarks.size() + 2 * view.processes.size());
  for (const CardView& card : view.cards) rows += 4 + static_cast<int>(card.remarks.size());
  return draw_watch(view, WatchHistory(), WatchState(), look, {columns, 3 * rows});
}

}  // namespace vramfit::tui
