#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "report/exports/csv.h"
#include "report/exports/speedscope_json.h"
#include "report/exports/svg.h"
#include "report/exports/trace_json.h"

namespace vramfit::report::exports {
namespace {

using base::Bytes;
using nlohmann::json;

ExportFacts sample() {
  ExportFacts facts{.title = "run \"1\""};
  facts.cards = {{0, "NVIDIA Test Card", Bytes::gib(8), Bytes::gib(2)}};
  facts.counters = {{"allocated", 0, {{0, Bytes(0)}, {1'500, Bytes(100)}, {3'000, Bytes(50)}}},
                    {"reserved", 0, {{0, Bytes(200)}, {3'000, Bytes(300)}}}};
  facts.slices = {{"load", 0, 0, 1'500}, {"train", 0, 1'500, 3'000}};
  facts.marks = {{"=1+1, \"then\"\n", "mark", 0, 1'500}};
  facts.profiles = {
      {"by module", {{{{"weights", "", 0}, {"conv", "", 0}}, Bytes(10)}, {{{"weights", "", 0}}, Bytes(30)}}}};
  facts.outcome = "fits";
  return facts;
}

TEST(Exports, a_trace_has_counters_slices_and_marks_in_microseconds) {
  const json file = json::parse(trace_to_json({sample(), sample()}, "1"));
  int counters = 0, slices = 0, instants = 0;
  std::set<int> processes;
  for (const json& event : file["traceEvents"]) {
    processes.insert(event["pid"].get<int>());
    if (event["ph"] == "C") ++counters;
    if (event["ph"] == "X") ++slices;
    if (event["ph"] == "i") ++instants;
    if (event["ph"] == "X" && event["name"] == "train") {
      EXPECT_EQ(event["ts"], 1.5);
      EXPECT_EQ(event["dur"], 1.5);
    }
  }
  EXPECT_EQ(counters, 10);
  EXPECT_EQ(slices, 4);
  EXPECT_EQ(instants, 2);
  EXPECT_EQ(processes.size(), 2u) << "cards of two runs are apart";
}

TEST(Exports, frames_are_stored_once_and_the_heaviest_stack_comes_first) {
  const json file = json::parse(profiles_to_speedscope({sample()}, "1"));
  EXPECT_EQ(file["shared"]["frames"].size(), 2u);
  const json& profile = file["profiles"][0];
  EXPECT_EQ(profile["weights"], json({30, 10}));
  EXPECT_EQ(profile["samples"], json::parse("[[0],[0,1]]"));
  EXPECT_EQ(profile["endValue"], 40);
  EXPECT_EQ(profile["unit"], "bytes");
}

TEST(Exports, what_is_no_utf8_is_replaced) {
  ExportFacts facts = sample();
  facts.marks[0].text = facts.profiles[0].stacks[0].frames[0].name = "\xff\xfe";
  EXPECT_TRUE(json::accept(trace_to_json({facts}, "1")));
  EXPECT_TRUE(json::accept(profiles_to_speedscope({facts}, "1")));
}

TEST(Exports, csv_quotes_what_needs_it_and_disarms_formulas) {
  const std::string csv = counters_to_csv({sample()});
  EXPECT_EQ(csv,
            "of,card,seconds,phase,allocated_bytes,reserved_bytes,device_bytes,mark\r\n"
            "\"run \"\"1\"\"\",0,0.000000,load,0,200,,\r\n"
            "\"run \"\"1\"\"\",0,0.000002,train,100,,,\"'=1+1, \"\"then\"\"\n\"\r\n"
            "\"run \"\"1\"\"\",0,0.000003,,50,300,,\r\n");
}

//  reserved   ____________     a point at the begin and the end only: between them it holds
//  allocated  __|^^^^^|___
TEST(Exports, a_level_holds_until_its_next_point) {
  ExportFacts facts = sample();
  const auto path_of = [](const std::string& svg, const std::string& css_class) {
    const std::size_t begin = svg.find("<path class=\"" + css_class + "\" d=\"M76");
    if (begin == std::string::npos) return std::string();
    return svg.substr(begin, svg.find("/>", begin) - begin);
  };
  facts.counters[1].points = {{0, Bytes(300)}, {3'000, Bytes(300)}};
  facts.counters.push_back({"device", 0, {{0, Bytes(400)}, {3'000, Bytes(400)}}});
  const std::string svg = charts_to_svg({facts});
  for (const char* flat : {"reserved", "used"}) {
    std::set<std::string> heights;
    const std::string path = path_of(svg.substr(svg.find("viewBox", svg.find("<svg y="))), flat);
    ASSERT_FALSE(path.empty()) << flat;
    for (std::size_t at = path.find('V'); at != std::string::npos; at = path.find('V', at + 1)) {
      heights.insert(path.substr(at, path.find_first_of("H\"", at) - at));
    }
    EXPECT_EQ(heights.size(), 1u) << path;
  }
}

// "M1 2H3V4H5": the stretches of a curve, and how far each reaches.
std::vector<std::string> stretches_of(const std::string& svg, const std::string& css_class) {
  const std::string begins = "<path class=\"" + css_class + "\" d=\"";
  const std::size_t begin = svg.find(begins, svg.find("<rect class=\"phase"));
  if (begin == std::string::npos) return {};
  const std::size_t from = begin + begins.size();
  std::vector<std::string> found;
  for (const char letter : svg.substr(from, svg.find('"', from) - from)) {
    if (letter == 'M') found.emplace_back();
    found.back() += letter;
  }
  return found;
}

//  allocated  __      ____     not known between the first point and the last but one: nothing is drawn there
TEST(Exports, what_is_not_known_is_a_gap_and_never_a_line_at_nothing) {
  ExportFacts facts = sample();
  facts.counters = {{"allocated", 0, {{0, Bytes::gib(1)}, {1'000, std::nullopt}, {2'000, Bytes::gib(1)}}},
                    {"device", 0, {{0, Bytes::gib(2)}, {3'000, Bytes::gib(2)}}}};
  const std::string svg = charts_to_svg({facts});
  const auto known = stretches_of(svg, "allocated");
  ASSERT_EQ(known.size(), 2u);
  EXPECT_NE(known[0].find('H'), std::string::npos) << "it lasts until it is not known any more";
  for (const std::string& one : known)
    EXPECT_EQ(one.find("276.0"), std::string::npos) << "the axis' own height: " << one;
  EXPECT_EQ(stretches_of(svg, "reserved").size(), 0u) << "nothing told of it";
  EXPECT_EQ(stretches_of(svg, "used").size(), 1u);
  EXPECT_EQ(svg.find("reserved by PyTorch"), std::string::npos);
}

TEST(Exports, a_peak_that_is_not_known_has_no_bar) {
  ExportFacts unknown = sample();
  unknown.cards[0].peak = std::nullopt;
  const std::string svg = charts_to_svg({sample(), unknown});
  EXPECT_NE(svg.find("peak not known"), std::string::npos);
  EXPECT_EQ(svg.find("<rect class=\"bar\""), svg.rfind("<rect class=\"bar\"")) << "one bar, of the one that is known";
}

TEST(Exports, one_gives_timelines_and_several_give_bars) {
  const std::string one = charts_to_svg({sample()});
  EXPECT_NE(one.find("class=\"allocated\""), std::string::npos);
  EXPECT_NE(one.find("run &quot;1&quot;"), std::string::npos);
  EXPECT_EQ(one.find("var("), std::string::npos) << "it stands alone";
  const std::string several = charts_to_svg({sample(), sample()});
  EXPECT_NE(several.find("2.00 GiB, fits"), std::string::npos);
  EXPECT_EQ(charts_to_svg({ExportFacts{}}), "");
  EXPECT_EQ(charts_to_svg({}), "");
}

}  // namespace
}  // namespace vramfit::report::exports
