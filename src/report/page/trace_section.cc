#include "report/page/trace_section.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "report/page/html.h"
#include "report/page/trace_data.h"

namespace vramfit::report::page {

using base::Bytes;

namespace {

constexpr std::size_t kMostCurveRows = 128;

std::string size_text(std::int64_t bytes) { return to_string(Bytes(bytes)); }

// "event 1,234 of 20,000, after 3.210 s"
std::string moment(const CardTrace& card, const Stop& stop) {
  std::string text = fmt::format("event {} of {}", stop.instant, card.entries);
  if (card.has_times) text += fmt::format(", after {:.3f} s", stop.seconds);
  return text;
}

std::string card_sentence(const CardTrace& card) {
  if (card.stops.empty()) return "nothing was recorded";
  const Stop& peak = card.stops[card.peak_stop];
  std::string text = card.entries == 0
                         ? fmt::format("{} allocated, {} reserved", size_text(peak.allocated), size_text(peak.reserved))
                         : fmt::format("at most {} allocated ({} reserved then), at {}", size_text(peak.allocated),
                                       size_text(peak.reserved), moment(card, peak));
  if (!card.oom_stops.empty()) text += fmt::format("; out of memory {} times", card.oom_stops.size());
  if (card.oom_stops.size() == 1) text.replace(text.rfind(" 1 times"), 8, "");
  return text;
}

// What the page leaves out, in numbers.
std::string detail(const CardTrace& card) {
  std::string text;
  if (!card.levels.empty() && card.levels.back().entries_per_bucket > 1) {
    text += fmt::format("The curve's finest step is {} events; the least and the most within a step are kept. ",
                        card.levels.back().entries_per_bucket);
  } else {
    text += "The curve has every event. ";
  }
  if (card.has_all_stops) {
    text += "Map and flame graph can be set to every event. ";
  } else {
    text += fmt::format(
        "Map and flame graph can be set to {} of {} events: the peaks, each OOM (of very many the "
        "first 64), and at equal distances the fullest. ",
        card.stops.size(), card.entries);
  }
  if (card.least_kept > 0) {
    text += fmt::format(
        "At these, blocks of {} and more are shown singly, at the peaks and the first OOM smaller ones "
        "too ({} in all); the rest as sums.",
        size_text(static_cast<std::int64_t>(card.least_kept)), card.blocks.size());
  } else {
    text += "At these, every block is shown singly.";
  }
  return text;
}

std::string curve_table(const CardTrace& card, const std::string& title) {
  if (card.levels.empty() || card.entries == 0) return "";
  const CurveLevel& level = card.levels.front();
  const std::size_t per_row = (level.allocated_most.size() + kMostCurveRows - 1) / kMostCurveRows;
  std::vector<std::vector<std::string>> rows;
  const auto most_of = [&](const std::vector<std::uint32_t>& values, std::size_t begin, std::size_t end) {
    return *std::max_element(values.begin() + static_cast<std::ptrdiff_t>(begin),
                             values.begin() + static_cast<std::ptrdiff_t>(end));
  };
  for (std::size_t begin = 0; begin < level.allocated_most.size(); begin += per_row) {
    const std::size_t end = std::min(begin + per_row, level.allocated_most.size());
    const std::uint32_t least = *std::min_element(level.allocated_least.begin() + static_cast<std::ptrdiff_t>(begin),
                                                  level.allocated_least.begin() + static_cast<std::ptrdiff_t>(end));
    rows.push_back({fmt::format("{}", static_cast<std::int64_t>(begin) * level.entries_per_bucket)});
    if (card.has_times) rows.back().push_back(fmt::format("{:.3f} s", level.begins[begin]));
    for (const std::uint32_t units :
         {least, most_of(level.allocated_most, begin, end), most_of(level.reserved_most, begin, end)}) {
      rows.back().push_back(size_text(std::int64_t{units} * 512));
    }
  }
  std::vector<TableColumn> columns = {{"from event", true}};
  if (card.has_times) columns.push_back({"after", true});
  for (const char* name : {"allocated, least", "allocated, most", "reserved, most"}) columns.push_back({name, true});
  return details("The numbers behind the picture", table("Steps of: " + title, columns, rows));
}

std::string marks_table(const CardTrace& card, const std::string& title) {
  if (card.marks.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const TraceMark& mark : card.marks) {
    rows.push_back({fmt::format("{}", mark.instant), card.has_times ? fmt::format("{:.3f} s", mark.seconds) : "",
                    escape(mark.text)});
  }
  std::string html = details(fmt::format("Phases and OOMs ({})", rows.size()),
                             table("Marks of: " + title, {{"event", true}, {"after", true}, {"what"}}, rows));
  if (card.marks_left_out > 0) html += paragraph(fmt::format("{} more are not shown.", card.marks_left_out));
  return html;
}

std::string segment_table(const CardTrace& card) {
  std::vector<std::vector<std::string>> rows;
  for (const SegmentRow& row : card.segments_at_first) {
    rows.push_back({fmt::format("<code>{:#x}</code>", row.address), escape(row.group), size_text(row.size),
                    size_text(row.allocated), size_text(row.waiting), size_text(row.free), size_text(row.largest_hole),
                    fmt::format("{}", row.blocks)});
  }
  std::string more;
  if (card.segments_left_out > 0)
    more = fmt::format(" ({} smaller ones are not in this table)", card.segments_left_out);
  return details("Segments in a table", table("Segments at the instant shown, the largest first" + more,
                                              {{"address"},
                                               {"pool and stream"},
                                               {"size", true},
                                               {"in use", true},
                                               {"waiting", true},
                                               {"free", true},
                                               {"largest hole", true},
                                               {"blocks", true}},
                                              rows));
}

std::string line_table(const CardTrace& card) {
  std::int64_t whole = 0;
  for (const LineTotal& total : card.lines_at_first) whole += total.bytes;
  std::vector<std::vector<std::string>> rows;
  for (const LineTotal& total : card.lines_at_first) {
    rows.push_back(
        {"<code>" + escape(total.line) + "</code>", size_text(total.bytes),
         fmt::format("{:.1f} %", whole > 0 ? 100.0 * static_cast<double>(total.bytes) / static_cast<double>(whole) : 0),
         fmt::format("{}", total.blocks)});
  }
  return table("Who holds what is alive at the instant shown, by the innermost line that is no library's",
               {{"line"}, {"holds", true}, {"share", true}, {"blocks", true}}, rows);
}

// The patterns of trace.css: hatched, dotted, crossed.
std::string trace_patterns() {
  return "<svg class=\"patterns\" aria-hidden=\"true\" focusable=\"false\"><defs>\n"
         "<pattern id=\"trace-waiting\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
         "patternTransform=\"rotate(45)\"><rect width=\"5\" height=\"5\" class=\"ground\"/><rect width=\"2.5\" "
         "height=\"5\" class=\"trace-dot\"/></pattern>\n"
         "<pattern id=\"trace-hole\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\"><rect width=\"7\" "
         "height=\"7\" class=\"ground\"/><circle cx=\"3\" cy=\"3\" r=\"0.9\" class=\"trace-dot\"/></pattern>\n"
         "<pattern id=\"trace-mixed\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\"><rect width=\"7\" "
         "height=\"7\" class=\"ground\"/><path d=\"M0 0L7 7M7 0L0 7\" class=\"trace-ink\"/></pattern>\n"
         "</defs></svg>\n";
}

// Everything that the script fills stays hidden until it does.
std::string controls(const CardTrace& card, const std::string& id) {
  const std::size_t last = card.stops.empty() ? 0 : card.stops.size() - 1;
  std::string html = fmt::format(
      "<div class=\"trace-control\" role=\"group\" aria-label=\"The instant shown, card {0}\" hidden><label>instant "
      "<input type=\"range\" min=\"0\" max=\"{1}\" value=\"{2}\"></label><span class=\"buttons\"><button "
      "type=\"button\" data-stop=\"{3}\">peak</button>",
      card.device, last, card.first_stop, card.peak_stop);
  for (std::size_t i = 0; i < std::min<std::size_t>(card.oom_stops.size(), 4); ++i) {
    html += fmt::format("<button type=\"button\" data-stop=\"{}\">OOM{}</button>", card.oom_stops[i],
                        card.oom_stops.size() > 1 ? fmt::format(" {}", i + 1) : "");
  }
  return html + fmt::format(
                    "<button type=\"button\" data-stop=\"{}\">end</button></span><output id=\"{}-now\" "
                    "aria-live=\"off\"></output></div>\n",
                    last, id);
}

std::string zoom_control(std::string_view label, std::string_view more) {
  return fmt::format("<div class=\"trace-zoom buttons\" role=\"group\" aria-label=\"{}\" hidden>{}{}</div>\n", label,
                     zoom_buttons(), more);
}

std::string time_figure(const CardTrace& card, const std::string& title) {
  std::string html = fmt::format("<figure class=\"trace-time\"><figcaption>{}</figcaption>\n", escape(title));
  html +=
      "<ul class=\"legend\"><li><svg class=\"key\" viewBox=\"0 0 32 8\" aria-hidden=\"true\"><path class=\"reserved\" "
      "d=\"M0 4H32\"/></svg> reserved by PyTorch</li><li><svg class=\"key\" viewBox=\"0 0 32 8\" aria-hidden=\"true\">"
      "<path class=\"trace-most\" d=\"M0 4H32\"/></svg> allocated by tensors (a band where a step has a least and a "
      "most)</li></ul>\n";
  html += zoom_control("The span of time shown",
                       card.has_times ? "<label>across <select><option value=\"seconds\">seconds</option><option "
                                        "value=\"events\">events</option></select></label>"
                                      : "");
  html += fmt::format(
      "<div class=\"view\" role=\"application\" tabindex=\"0\" aria-label=\"{}. Left and "
      "right: the instant; plus and minus: zoom; the table below holds the numbers.\" hidden></div>\n",
      escape(title));
  return html + curve_table(card, title) + marks_table(card, title) + "</figure>\n";
}

// Drawn and searched by the page's scripts alone: without them the tables of the other pictures are there.
std::string stack_figure(const CardTrace& card, const std::string& title, int level) {
  std::string html = "<div class=\"trace-scripted\" hidden>\n" + heading(level, "Every tensor over time");
  html += fmt::format("<figure class=\"trace-stack\"><figcaption>{}</figcaption>\n", escape(title));
  html += fmt::format(
      "<p class=\"muted\">In the order in which they came, the first lowest, below them what piles up; the lines that "
      "hold the most have the "
      "colours of the map below. Drag to zoom "
      "in, double-click for the whole; a click tells a tensor's stack and life.</p>\n"
      "<form class=\"stack-search\" role=\"search\" aria-label=\"{}\"><label>Find <input type=\"search\" "
      "autocomplete=\"off\" "
      "placeholder=\"conv forward >16MiB\"></label> <output></output></form>\n",
      escape("Find tensors: " + title));
  html += zoom_control("The span of events shown", "");
  html += fmt::format(
      "<div class=\"view\" role=\"application\" tabindex=\"0\" aria-label=\"{}. Left and right: the instant; up and "
      "down: tensor by tensor; plus, minus and 0: zoom; Escape: none.\" hidden></div>\n<p class=\"stack-note "
      "muted\"></p>\n"
      "<div class=\"told\" role=\"status\"></div>\n<ol class=\"stack-whole\" tabindex=\"0\" aria-label=\"Stack of the "
      "tensor, "
      "the innermost frame first\" hidden></ol>\n",
      escape(title));
  html +=
      "<div class=\"scroll stack-found\" tabindex=\"0\" role=\"group\" aria-label=\"Tensors found\" "
      "hidden><table><caption>Tensors "
      "found, the largest first</caption><thead><tr><th scope=\"col\" class=\"number\">size</th><th "
      "scope=\"col\">line</th>"
      "<th scope=\"col\">life</th></tr></thead><tbody></tbody></table></div>\n";
  if (!card.has_all_stops || card.least_kept > 0) {
    html += paragraph(
        "Tensors that live between two of the events that the page holds, and those that it holds as sums, have no "
        "band "
        "and are not found; what they hold is in the crossed band.");
  }
  return html + "</figure></div>\n";
}

std::string map_figure(const CardTrace& card, const std::string& title) {
  std::string html = fmt::format("<figure class=\"trace-map\"><figcaption>{}</figcaption>\n", escape(title));
  const auto key = [](std::string_view css_class, std::string_view text) {
    return fmt::format(
        "<li><svg class=\"key\" viewBox=\"0 0 32 12\" aria-hidden=\"true\"><rect class=\"{}\" "
        "width=\"32\" height=\"12\"/></svg> {}</li>",
        css_class, text);
  };
  html += "<ul class=\"legend\">" + key("block own-0", "in use (a colour a line)") +
          key("block waiting", "freed, waiting for other streams") + key("hole", "free");
  if (card.least_kept > 0) html += key("mixed", "free, and blocks too small to show singly");
  html += fmt::format(
      "</ul>\n<ul class=\"legend owners\"></ul>\n<div class=\"view\" role=\"application\" "
      "tabindex=\"0\" aria-label=\"{}. Left and right: block by block; up and down: segment by "
      "segment; the table below holds the numbers.\" hidden></div>\n<div class=\"told\" "
      "role=\"status\"></div>\n",
      escape(title));
  return html + segment_table(card) + "</figure>\n";
}

std::string flame_figure(const CardTrace& card, const std::string& title) {
  const bool has_stacks = card.stacks.parent.size() > 1, has_labels = card.labels.parent.size() > 1;
  std::string html = fmt::format("<figure class=\"trace-flame\"><figcaption>{}</figcaption>\n", escape(title));
  if (has_stacks || has_labels) {
    html += "<div class=\"trace-by buttons\" hidden><label>by <select>";
    if (has_stacks) html += "<option value=\"stack\">stack</option>";
    if (has_labels) html += "<option value=\"label\">phase</option>";
    html += fmt::format(
        "</select></label><button type=\"button\" data-flame=\"up\">one up</button><button type=\"button\" "
        "data-flame=\"all\">whole</button></div>\n<div class=\"view\" role=\"application\" tabindex=\"0\" "
        "aria-label=\"{}. Arrows: from frame to frame; Enter: only this one; Escape: one up; the table below holds the "
        "lines.\" hidden></div>\n<div class=\"told\" role=\"status\"></div>\n",
        escape(title));
  } else {
    html += paragraph("There are no stacks to draw.");
  }
  if (card.stacks.cut_stacks > 0) {
    html += paragraph(
        fmt::format("{} stacks did not fit whole: their innermost frames are left out.", card.stacks.cut_stacks));
  }
  return html + line_table(card) + "</figure>\n";
}

std::string card_section(const CardTrace& card, const std::string& id, const std::string& name, int level) {
  const std::string of = fmt::format(", card {} of {}", card.device, name);
  std::string html = fmt::format("<section class=\"trace-card\" id=\"{}\">\n", id);
  html += heading(level, fmt::format("Card {}: {}", card.device, card_sentence(card)));
  for (const std::string& remark : card.remarks) html += paragraph(remark, "note");
  html += paragraph(detail(card)) + trace_data(card) + controls(card, id);
  if (card.entries > 0) {
    html += heading(level + 1, "Memory over time") + time_figure(card, "Memory over time" + of);
    html += stack_figure(card, "Every tensor over the allocator's events" + of, level + 1);
  }
  html += heading(level + 1, "Allocator map") + map_figure(card, "Segments and blocks by address" + of);
  html += heading(level + 1, "What is alive") + flame_figure(card, "What is alive" + of);
  return html + "</section>\n";
}

}  // namespace

std::string trace_sentence(const TraceFacts& trace) {
  if (trace.cards.empty()) return "nothing was recorded";
  const auto fullest = std::ranges::max_element(trace.cards, {}, [](const CardTrace& card) {
    return card.stops.empty() ? 0 : card.stops[card.peak_stop].allocated;
  });
  return (trace.cards.size() > 1 ? fmt::format("card {}: ", fullest->device) : "") + card_sentence(*fullest);
}

std::string trace_section(const TraceFacts& trace, int number, int level) {
  std::string html = fmt::format("<section id=\"snapshot-{}\">\n", number);
  if (number == 1) html += trace_patterns();
  html += heading(level, "Snapshot " + trace.name);
  if (!trace.damage.empty()) {
    html += paragraph(
        fmt::format("The file is cut off or damaged ({}): what was complete before that is shown.", trace.damage),
        "note strong");
  }
  if (!trace.torch.empty()) html += paragraph(fmt::format("Written by torch {} or later.", trace.torch));
  if (trace.cards.empty()) html += paragraph("There is neither a trace nor a segment in it.");
  for (const CardTrace& card : trace.cards) {
    html += card_section(card, fmt::format("snapshot-{}-card-{}", number, card.device), trace.name, level + 1);
  }
  return html + "</section>\n";
}

}  // namespace vramfit::report::page
