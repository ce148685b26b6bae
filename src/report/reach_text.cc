#include "report/reach_text.h"

#include <fmt/format.h>

#include "base/grouped_number.h"

namespace vramfit::report {

namespace {

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string looked_sentence(const model::LookedAt& looked) {
  const std::string of = looked.of ? " of " + base::grouped(*looked.of) : std::string();
  return fmt::format("looked at {}{} samples of data loader {}: {}", base::grouped(looked.samples), of,
                     looked.loader + 1, looked.differ ? "they differ in size" : "all of one size");
}

}  // namespace

std::vector<std::string> reach_sentences(const model::Reach& reach) {
  std::vector<std::string> sentences;
  if (reach.batches > 0) {
    sentences.push_back(fmt::format("everything was run for {} batches and steps ({:.1f} s), before anything was cut",
                                    base::grouped(reach.batches), reach.seconds));
  }
  if (reach.lines_run) {
    sentences.push_back(
        fmt::format("{:.0f} % of the lines of the script's own files were run", 100 * *reach.lines_run));
  }
  for (const model::LookedAt& looked : reach.looked) sentences.push_back(looked_sentence(looked));
  return sentences;
}

std::vector<std::string> unreached_sentences(const model::Reach& reach, std::size_t most) {
  std::vector<std::string> sentences;
  std::size_t left = 0;
  for (const model::Unreached& lines : reach.unreached) {
    if (lines.card == model::UsesCard::kNo) continue;
    if (sentences.size() >= most) {
      ++left;
      continue;
    }
    sentences.push_back(fmt::format("line {} of {}, {}, was not reached ({}){}", lines.line, file_name(lines.file),
                                    lines.code, lines.when,
                                    lines.card == model::UsesCard::kYes ? "" : "; it may use the card"));
  }
  if (left > 0) sentences.push_back(fmt::format("and {} more places", left));
  return sentences;
}

}  // namespace vramfit::report
