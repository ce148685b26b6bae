#include "report/verify_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "report/json_members.h"
#include "report/layout.h"
#include "report/schemas.h"

namespace vramfit::report {
namespace {

using model::Equivalence;
using model::Sameness;
using nlohmann::ordered_json;

std::string_view mark_of(const Equivalence& equivalence) {
  if (is_failed(equivalence)) return "[✗]";
  return equivalence.sameness == Sameness::kNotChecked ? "[!]" : "[✓]";
}

void add_paragraph(std::string& text, std::string_view heading, const std::vector<std::string>& sentences) {
  if (sentences.empty()) return;
  text += fmt::format("\n{}\n", heading);
  for (const std::string& sentence : sentences) text += "  - " + wrap(sentence, kPageWidth - 4, 4) + "\n";
}

}  // namespace

std::string verify_to_text(const model::VerifyResult& result, const TextOptions& options) {
  const Equivalence& found = result.equivalence;
  const std::string line = fmt::format("{} {} {}{}", mark_of(found), result.plan,
                                       found.sameness == Sameness::kNotChecked ? "was " : "", found.text);
  std::string text = wrap(line, kPageWidth, 4) + "\n";
  add_paragraph(text, "What differs", found.differences);
  add_paragraph(text, "[!] Untested", result.untested);
  add_paragraph(text, "What the plan says that it changes", found.effects);
  if (found.checked && found.steps > 0) {
    add_paragraph(
        text, "Not compared",
        {fmt::format("steps after the first {}: a loss, a schedule or a mask that changes later", found.steps),
         "dropout, which both runs go without"});
  }
  std::string effort = fmt::format("{} in {:.1f} s, with values computed on the CPU and few samples",
                                   count_of(static_cast<std::size_t>(result.runs), "run"), result.seconds);
  if (found.checked && found.steps > 0) {
    effort += fmt::format(
        "; apart from each other: gradients of the first step {:.1g}, updates of the weights {:.1g} "
        "of their size",
        found.gradient_distance, found.update_distance);
  }
  text += "\n" + wrap(effort, kPageWidth, 0) + "\n";
  return options.color ? paint_marks(text) : text;
}

ordered_json equivalence_json(const Equivalence& equivalence) {
  return {{"class", to_string(equivalence.sameness)},
          {"text", equivalence.text},
          {"steps", equivalence.steps},
          {"checked", equivalence.checked},
          {"differences", equivalence.differences},
          {"effects", equivalence.effects},
          {"gradient_distance", equivalence.gradient_distance},
          {"update_distance", equivalence.update_distance}};
}

std::string verify_to_json(const model::VerifyResult& result, std::string_view version) {
  ordered_json json = {{"schema", kVerifySchema}, {"vramfit", version}, {"plan", result.plan}, {"card", result.card}};
  json["equivalence"] = equivalence_json(result.equivalence);
  json["refused"] = result.refused;
  json["untested"] = result.untested;
  json["runs"] = result.runs;
  json["seconds"] = result.seconds;
  return base::json_file(json);
}

}  // namespace vramfit::report
