// What the doctor says of texts, and what of it is its rules' and what the vote's of known texts: for
// bench/doctor/learn.py.
//
//   vramfit_vote_tool [--table LINES] [NAME=NUMBER...] < texts.jsonl
//
// A line: {"text"; "first", "confidence": what rules said of it once, where that counts and not what they say now;
// "none": nothing}. Table: as src/doctor/likeness_lines.txt; else the program's own. Numbers: of doctor::Gates.
// Answers, a line each: {"said", "confidence"} as the program would, {"rules", "rules_confidence"} without the vote,
// and the vote:
// {"known_words", "shares"}.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "app/catalogue.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/parse_number.h"
#include "doctor/cause.h"
#include "doctor/diagnose.h"
#include "doctor/likeness_finding.h"
#include "ingest/text/read_text.h"

namespace {

using namespace vramfit;
using nlohmann::json;

struct Table {
  std::string text;
  std::vector<const char*> lines;
};

// Cuts the text where it lies.
void cut_lines(Table& table) {
  for (std::size_t at = 0; at < table.text.size();) {
    const std::size_t end = std::min(table.text.find('\n', at), table.text.size());
    table.lines.push_back(table.text.data() + at);
    if (end < table.text.size()) table.text[end] = '\0';
    at = end + 1;
  }
}

bool set_gate(doctor::Gates& gates, const std::string& name, double number) {
  const std::map<std::string, double*> shares{{"share_to_name", &gates.share_to_name},
                                              {"times_the_next", &gates.times_the_next},
                                              {"healthy_to_name", &gates.healthy_to_name},
                                              {"healthy_to_clear", &gates.healthy_to_clear},
                                              {"healthy_to_clear_question", &gates.healthy_to_clear_question},
                                              {"healthy_to_clear_document", &gates.healthy_to_clear_document},
                                              {"healthy_to_clear_failure", &gates.healthy_to_clear_failure},
                                              {"healthy_to_clear_printed", &gates.healthy_to_clear_printed},
                                              {"healthy_to_clear_short", &gates.healthy_to_clear_short},
                                              {"unsure", &gates.unsure},
                                              {"share_to_outrank", &gates.share_to_outrank},
                                              {"share_beside_message", &gates.share_beside_message},
                                              {"likelier", &gates.likelier},
                                              {"much_likelier", &gates.much_likelier},
                                              {"far_likelier", &gates.far_likelier},
                                              {"sure", &gates.sure},
                                              {"healthy_to_be_sure", &gates.healthy_to_be_sure},
                                              {"healthy_to_outrank", &gates.healthy_to_outrank}};
  if (name == "fewest_to_compare") return gates.fewest_to_compare = static_cast<std::size_t>(number), true;
  if (name == "fewest_to_name") return gates.fewest_to_name = static_cast<std::size_t>(number), true;
  if (name == "fewest_to_doubt_short") return gates.fewest_to_doubt_short = static_cast<std::size_t>(number), true;
  if (name == "fewest_to_doubt") return gates.fewest_to_doubt = static_cast<std::size_t>(number), true;
  const auto share = shares.find(name);
  return share != shares.end() && (*share->second = number, true);
}

std::string code_of(const std::vector<model::Finding>& findings) {
  return findings.empty() ? "none" : findings.front().code;
}

double confidence_of(const std::vector<model::Finding>& findings) {
  return findings.empty() ? 1 : findings.front().confidence;
}

std::vector<model::Finding> said_once(const json& line) {
  const doctor::Cause* cause = doctor::find_cause(line.at("first").get<std::string>());
  if (cause == nullptr) return {};
  model::Finding finding;
  finding.code = cause->code;
  finding.label = cause->label;
  finding.confidence = line.value("confidence", 1.0);
  return {finding};
}

base::Result<json> answer(const json& line, const std::vector<model::Card>& cards, const doctor::KnownTexts& known,
                          const doctor::Gates& gates) {
  std::istringstream stream(line.at("text").get<std::string>());
  auto texts = ingest::read_text_evidence(stream, "text");
  if (!texts) return std::unexpected(texts.error());
  doctor::Case given;
  given.texts = std::move(*texts);
  given.cards = cards;
  const doctor::Scene scene(given);
  auto findings = line.contains("first") ? said_once(line) : doctor::ask_rules(scene);
  json told{{"rules", code_of(findings)}, {"rules_confidence", confidence_of(findings)}};
  doctor::ask_known_texts(scene, findings, known, gates);
  told["said"] = code_of(findings);
  told["confidence"] = confidence_of(findings);
  const doctor::Likeness likeness = known.compare(doctor::words_compared(scene));
  told["known_words"] = likeness.known_words;
  for (const doctor::CodeShare& one : likeness.shares) told["shares"][std::string(one.code)] = one.share;
  return told;
}

int refuse(const std::string& why) {
  fmt::print(stderr, "{}\n", why);
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  Table table;
  doctor::Gates gates;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    if (word == "--table" && i + 1 < count) {
      auto text = base::read_file(arguments[++i]);
      if (!text) return refuse(base::to_string(text.error()));
      table.text = std::move(*text);
      cut_lines(table);
      continue;
    }
    const std::size_t equals = std::min(word.find('='), word.size());
    const auto number = equals < word.size() ? base::parse_number<double>(word.substr(equals + 1)) : std::nullopt;
    if (!number || !set_gate(gates, word.substr(0, equals), *number)) return refuse("not known: " + word);
  }
  const auto cards = app::load_catalogue();
  if (!cards) return refuse(base::to_string(cards.error()));
  const doctor::KnownTexts given(table.lines);
  for (std::string line; std::getline(std::cin, line);) {
    const auto told =
        answer(json::parse(line), *cards, table.lines.empty() ? doctor::KnownTexts::built_in() : given, gates);
    if (!told) return refuse(base::to_string(told.error()));
    std::cout << base::json_line(*told) << '\n';
  }
  return 0;
}
