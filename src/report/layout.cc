#include "report/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace vramfit::report {

std::string indented_line(std::string_view text) { return "  " + wrap(text, kPageWidth - 2, 4) + "\n"; }

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

namespace {

std::string wrap_line(std::string_view text, std::size_t width, std::size_t indent, std::size_t used) {
  std::string wrapped;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (!first && used + 1 + columns(word) > width) {
      wrapped += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (!first) {
      wrapped += ' ';
      ++used;
    }
    wrapped += word;
    used += columns(word);
    first = false;
  }
  return wrapped;
}

}  // namespace

std::string count_of(std::size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

namespace {

constexpr std::size_t kNarrowest = 20;  // of a page, and of what a wrapped column of it keeps
std::size_t shown_width = kPageWidth;

}  // namespace

void set_page_width(std::size_t columns) { shown_width = std::clamp(columns, kNarrowest, kPageWidth); }
std::size_t page_width() { return shown_width; }

std::string wrap(std::string_view text, std::size_t width, std::size_t indent) {
  const std::size_t missing = kPageWidth - shown_width;
  if (missing > 0) width = std::max(width - std::min(width, missing), std::min(width, kNarrowest));
  std::string wrapped;
  for (std::size_t used = 0; !text.empty(); used = indent) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string line = wrap_line(text.substr(0, end), width, indent, used);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    if (!wrapped.empty()) wrapped += "\n" + std::string(indent, ' ');
    wrapped += line;
  }
  return wrapped;
}

namespace {

// The first or last `count` columns.
std::string_view first_columns(std::string_view text, std::size_t count) {
  std::size_t end = 0;
  while (end < text.size() && columns(text.substr(0, end)) < count) ++end;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return text.substr(0, end);
}

std::string_view last_columns(std::string_view text, std::size_t count) {
  std::size_t start = text.size();
  while (start > 0 && columns(text.substr(start)) < count) --start;
  while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
  return text.substr(start);
}

}  // namespace

std::string shorten(std::string_view text, std::size_t width) {
  if (columns(text) <= width) return std::string(text);
  const std::size_t tail = (width - 1) / 2, head = width - 1 - tail;
  return std::string(first_columns(text, head)) + "…" + std::string(last_columns(text, tail));
}

namespace {

// A command of several lines is one cell.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char letter : text) {
    const bool is_control = static_cast<unsigned char>(letter) < ' ' || letter == 127;
    if (!is_control || !line.ends_with(' ')) line += is_control ? ' ' : letter;
  }
  return line;
}

}  // namespace

std::string table(const std::vector<Column>& format, std::vector<std::vector<std::string>> rows) {
  for (auto& row : rows) std::ranges::transform(row, row.begin(), one_line);
  std::vector<std::size_t> widths(format.size(), 0);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size() && i < format.size(); ++i) {
      widths[i] = std::max(widths[i], std::min(columns(row[i]), format[i].most));
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size() && i < format.size(); ++i) {
      const std::string cell = shorten(row[i], format[i].most);
      const std::string padding(widths[i] - columns(cell), ' ');
      line += "  ";
      line += format[i].align == Align::kRight ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string in_ascii(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kPlain[] = {{"✓", "+"}, {"✗", "x"},  {"–", "-"}, {"…", "~"},
                                                                      {"×", "x"}, {"±", "+-"}, {"█", "#"}, {"¦", "|"}};
  std::string plain;
  while (!text.empty()) {
    const auto* found = std::ranges::find_if(kPlain, [&](const auto& pair) { return text.starts_with(pair.first); });
    plain += found == std::end(kPlain) ? text.substr(0, 1) : found->second;
    text.remove_prefix(found == std::end(kPlain) ? 1 : found->first.size());
  }
  return plain;
}

std::string paint_marks(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kColors[] = {
      {"[✓]", "\033[32m"}, {"[!]", "\033[33m"}, {"[✗]", "\033[31m"}};
  std::string painted;
  while (!text.empty()) {
    const auto* found = std::ranges::find_if(kColors, [&](const auto& color) { return text.starts_with(color.first); });
    if (found == std::end(kColors)) {
      painted += text.front();
      text.remove_prefix(1);
      continue;
    }
    painted += found->second;
    painted += found->first;
    painted += "\033[0m";
    text.remove_prefix(found->first.size());
  }
  return painted;
}

}  // namespace vramfit::report
