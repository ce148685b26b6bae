#include "ingest/text/memory_table.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ingest/text/cursor.h"

namespace vramfit::ingest {
namespace {

constexpr std::size_t kFewestColumns = 2, kFewestOfBlanks = 3, kMostColumns = 200;
constexpr std::size_t kLongestName = 48;

// '|' and tabs before commas, which may stand within a field; blanks where there is none of them.
char separator_of(std::string_view head) {
  for (const char separator : {'\t', ';', ','}) {
    if (head.contains(separator)) return separator;
  }
  return ' ';
}

std::vector<std::string_view> split_row(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  Cursor cursor(trim(line));
  while (!cursor.at_end() && fields.size() < kMostColumns) {
    if (separator == ' ') {
      cursor.skip_blanks();
      fields.push_back(cursor.take_while([](char letter) { return !is_blank(letter); }));
      continue;
    }
    std::string_view field = trim(cursor.take_until(std::string_view(&separator, 1)));
    if (field.size() > 1 && field.front() == '"' && field.back() == '"') field = field.substr(1, field.size() - 2);
    fields.push_back(field);
  }
  return fields;
}

bool may_name_a_column(std::string_view field) {
  return !field.empty() && !is_digit(field.front()) && field.size() <= kLongestName && !field.contains("://");
}

bool names_a_step(std::string_view field) {
  static constexpr std::array<std::string_view, 5> kSteps{"step", "iter", "iteration", "global_step", "batch"};
  return std::ranges::any_of(kSteps, [&](std::string_view step) { return same_ignoring_case(field, step); });
}

}  // namespace

std::optional<MemoryTable> MemoryTable::open(std::string_view head) {
  MemoryTable table;
  table.separator_ = separator_of(head);
  if (head.contains("memory.used") || head.starts_with('#')) return std::nullopt;  // nvidia-smi has readers of its own
  const auto fields = split_row(head, table.separator_);
  if (fields.size() < (table.separator_ == ' ' ? kFewestOfBlanks : kFewestColumns)) return std::nullopt;
  std::optional<std::size_t> memory;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!may_name_a_column(fields[i])) return std::nullopt;
    if (names_a_step(fields[i])) table.step_ = i;
    const auto kind = read_memory_label(fields[i]);
    if (memory || !kind || (kind->unit == 0 && !kind->is_of_card)) continue;
    memory = i;
    table.kind_ = *kind;
  }
  if (!memory) return std::nullopt;
  table.memory_ = *memory;
  table.columns_.assign(fields.begin(), fields.end());
  return table;
}

std::optional<MemoryTable::Row> MemoryTable::read(std::string_view line) const {
  const auto fields = split_row(line, separator_);
  // What stands behind the last column of a table of blanks may have blanks itself.
  if (separator_ == ' ' ? fields.size() < columns_.size() : fields.size() != columns_.size()) return std::nullopt;
  auto memory = read_labelled(fields[memory_], columns_[memory_], kind_);
  if (!memory) return std::nullopt;
  Row row{std::move(*memory), std::nullopt};
  if (step_) row.step = to_integer(fields[*step_]);
  return row;
}

}  // namespace vramfit::ingest
