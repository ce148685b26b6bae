#include "report/page/trace_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "model/allocator_sizes.h"
#include "report/page/packed.h"

namespace vramfit::report::page {

namespace {

constexpr std::uint64_t kUnit = model::kBlockUnit;  // bytes
constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();

std::uint32_t in_units(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>((bytes + kUnit - 1) / kUnit, kUnknown));
}

// What a block has beyond what was asked for, in bytes.
std::uint32_t slack_of(const MapBlock& block) {
  if (block.requested == 0 || block.requested > block.size) return kUnknown;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(block.size - block.requested, kUnknown - 1));
}

template <class Number, class Row, class Get>
std::string column(std::string_view name, const std::vector<Row>& rows, const Get& get) {
  std::vector<Number> values;
  values.reserve(rows.size());
  for (const Row& row : rows) values.push_back(static_cast<Number>(get(row)));
  return packed(name, values);
}

std::string blocks_data(const std::vector<MapBlock>& blocks) {
  return column<double>("block-address", blocks, [](const MapBlock& one) { return one.address; }) +
         column<std::uint32_t>("block-size", blocks, [](const MapBlock& one) { return in_units(one.size); }) +
         column<std::uint32_t>("block-slack", blocks, slack_of) +
         column<std::uint16_t>("block-from", blocks, [](const MapBlock& one) { return one.from_stop; }) +
         column<std::uint16_t>("block-freed", blocks, [](const MapBlock& one) { return one.freed_stop; }) +
         column<std::uint16_t>("block-to", blocks, [](const MapBlock& one) { return one.to_stop; }) +
         column<std::uint32_t>("block-stack", blocks, [](const MapBlock& one) { return one.stack; }) +
         column<std::uint32_t>("block-line", blocks, [](const MapBlock& one) { return one.line; }) +
         column<std::uint32_t>("block-label", blocks, [](const MapBlock& one) { return one.label; });
}

std::string segments_data(const std::vector<MapSegment>& segments) {
  return column<double>("segment-address", segments, [](const MapSegment& one) { return one.address; }) +
         column<double>("segment-size", segments, [](const MapSegment& one) { return one.size; }) +
         column<std::uint16_t>("segment-from", segments, [](const MapSegment& one) { return one.from_stop; }) +
         column<std::uint16_t>("segment-to", segments, [](const MapSegment& one) { return one.to_stop; }) +
         column<std::uint32_t>("segment-group", segments, [](const MapSegment& one) { return one.group; }) +
         column<std::uint32_t>("segment-place", segments, [](const MapSegment& one) { return one.place; });
}

std::string stops_data(const std::vector<Stop>& stops) {
  return column<std::uint32_t>("stop-instant", stops, [](const Stop& one) { return one.instant; }) +
         column<double>("stop-seconds", stops, [](const Stop& one) { return one.seconds; }) +
         column<double>("stop-allocated", stops, [](const Stop& one) { return one.allocated; }) +
         column<double>("stop-reserved", stops, [](const Stop& one) { return one.reserved; }) +
         column<double>("stop-small-bytes", stops, [](const Stop& one) { return one.small_bytes; }) +
         column<std::uint32_t>("stop-small-blocks", stops, [](const Stop& one) { return one.small_blocks; });
}

std::string small_data(const std::vector<SmallBlocks>& small) {
  return column<std::uint16_t>("small-stop", small, [](const SmallBlocks& one) { return one.stop; }) +
         column<std::uint32_t>("small-place", small, [](const SmallBlocks& one) { return one.place; }) +
         column<std::uint32_t>("small-size", small, [](const SmallBlocks& one) { return in_units(one.bytes); }) +
         column<std::uint32_t>("small-blocks", small, [](const SmallBlocks& one) { return one.blocks; });
}

std::string levels_data(const std::vector<CurveLevel>& levels) {
  std::string html;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const CurveLevel& level = levels[i];
    html += packed(fmt::format("level-{}-least", i), level.allocated_least) +
            packed(fmt::format("level-{}-most", i), level.allocated_most) +
            packed(fmt::format("level-{}-reserved", i), level.reserved_most) +
            packed(fmt::format("level-{}-begins", i), level.begins);
  }
  return html;
}

std::string marks_data(const std::vector<TraceMark>& marks) {
  std::vector<std::string> texts;
  for (const TraceMark& mark : marks) texts.push_back(mark.text);
  return column<std::uint32_t>("mark-instant", marks, [](const TraceMark& one) { return one.instant; }) +
         column<double>("mark-seconds", marks, [](const TraceMark& one) { return one.seconds; }) +
         packed("mark", texts);
}

}  // namespace

std::string tree_data(std::string_view name, const NameTree& tree) {
  return packed(fmt::format("{}-parent", name), tree.parent) + packed(fmt::format("{}-name", name), tree.name) +
         packed(name, tree.names);
}

std::string trace_data(const CardTrace& card) {
  std::vector<double> per_bucket;
  for (const CurveLevel& level : card.levels) per_bucket.push_back(static_cast<double>(level.entries_per_bucket));
  std::vector<std::string> groups;
  for (const SegmentGroup& group : card.groups) groups.push_back(group.title);
  return fmt::format("<template data-entries=\"{}\" data-times=\"{}\" data-first=\"{}\" data-peak=\"{}\">\n",
                     card.entries, card.has_times ? 1 : 0, card.first_stop, card.peak_stop) +
         packed("oom-stops", card.oom_stops) + packed("level-entries", per_bucket) + levels_data(card.levels) +
         marks_data(card.marks) + stops_data(card.stops) + packed("group", groups) + segments_data(card.segments) +
         blocks_data(card.blocks) + small_data(card.small) + tree_data("stack", card.stacks) +
         tree_data("label", card.labels) + packed("line", card.lines) + "</template>\n";
}

}  // namespace vramfit::report::page
