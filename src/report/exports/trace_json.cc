#include "report/exports/trace_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace vramfit::report::exports {

namespace {

// Names come from scripts: what is no UTF-8 is replaced.
std::string json_text(std::string_view text) { return base::json_line(nlohmann::json(std::string(text))); }

// The format counts microseconds.
std::string micro(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

class TraceWriter {
 public:
  void event(std::string_view fields) {
    text_ += text_.empty() ? "\n" : ",\n";
    text_ += '{';
    text_ += fields;
    text_ += '}';
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

constexpr int kPhaseThread = 1;  // of each card: where its slices lie

void add_card(TraceWriter& out, const ExportFacts& facts, const CardFacts& card, int process) {
  const std::string name =
      fmt::format("{}: card {}{}{}", facts.title, card.device, card.name.empty() ? "" : ", ", card.name);
  out.event(fmt::format(R"("ph":"M","name":"process_name","pid":{},"args":{{"name":{}}})", process, json_text(name)));
  out.event(fmt::format(R"("ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}})", process));
  out.event(fmt::format(R"("ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"phases"}})", process,
                        kPhaseThread));
  for (const Counter& counter : facts.counters) {
    if (counter.device != card.device) continue;
    for (const CounterPoint& point : counter.points) {
      if (!point.value) continue;  // the format has no word for "not known": the value before stands on
      out.event(fmt::format(R"("ph":"C","name":{},"pid":{},"ts":{},"args":{{"bytes":{}}})", json_text(counter.name),
                            process, micro(point.at_ns), point.value->count()));
    }
  }
  for (const Slice& slice : facts.slices) {
    if (slice.device != card.device) continue;
    out.event(fmt::format(R"("ph":"X","cat":"phase","name":{},"pid":{},"tid":{},"ts":{},"dur":{})",
                          json_text(slice.name), process, kPhaseThread, micro(slice.from_ns),
                          micro(slice.to_ns - slice.from_ns)));
  }
  for (const Mark& mark : facts.marks) {
    if (mark.device != card.device) continue;
    out.event(fmt::format(R"("ph":"i","s":"p","cat":{},"name":{},"pid":{},"tid":{},"ts":{})", json_text(mark.kind),
                          json_text(mark.text), process, kPhaseThread, micro(mark.at_ns)));
  }
}

}  // namespace

std::string trace_to_json(const std::vector<ExportFacts>& exported, std::string_view version) {
  TraceWriter out;
  int process = 0;
  for (const ExportFacts& facts : exported) {
    for (const CardFacts& card : facts.cards) add_card(out, facts, card, ++process);
  }
  return fmt::format("{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"written by\":{}}},\n\"traceEvents\":[{}\n]}}\n",
                     json_text(fmt::format("vramfit {}", version)), out.text());
}

}  // namespace vramfit::report::exports
