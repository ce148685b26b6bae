#include "ingest/text/post_marks.h"

#include <algorithm>
#include <array>
#include <string>

#include "ingest/text/cursor.h"
#include "ingest/text/line_text.h"

namespace vramfit::ingest {

bool names_a_failure(std::string_view text) {
  static constexpr auto kWords =
      std::to_array<std::string_view>({"memory", "oom", "kill", "exit", "error", "alloc", "cuda", "cudnn", "cublas",
                                       "137", "signal", "hip", "nccl", "vram", "leak"});
  return contains_any(text, kWords);
}

bool is_heading(std::string_view line) {
  const std::string_view text = trim(line);
  if (text.starts_with("# ") || text.starts_with("## ") || text.starts_with("### ") || text.starts_with("#### "))
    return true;
  if (text.size() > 70 || text.empty()) return false;
  if (text.starts_with("**") && (text.ends_with("**") || text.ends_with("**:"))) return true;
  return text.ends_with(':') && std::ranges::count(text, ' ') < 5 && !text.contains('"');
}

bool is_wish(std::string_view heading) {
  static constexpr auto kWishes = std::to_array<std::string_view>(
      {"expected behavio", "expected result", "expected outcome", "desired", "should happen", "propos", "suggest",
       "feature request", "you'd like", "alternatives", "wanted"});
  return contains_any(heading, kWishes);
}

// The line without addresses: where a page lies says nothing of what names it.
std::string without_addresses(std::string_view line) {
  std::string left(line);
  for (std::size_t at = left.find("://"); at != std::string::npos; at = left.find("://", at)) {
    std::size_t begin = at;
    while (begin > 0 && is_letter(left[begin - 1])) --begin;
    left.erase(begin, left.find_first_of(" \t)>\"'", at) - begin);
    at = begin;
  }
  return left;
}

bool is_of_document(std::string_view line) {
  static constexpr auto kMarks = std::to_array<std::string_view>(
      {"what changed",    "## summary",    "## overview",   "## why",          "## validation", "## test plan",
       "## motivation",   "## changes",    "pull request",  "changelog",       "release notes", "## checks",
       "## details",      "documentation", "- [x] ",        "- [ ] ",          "lgtm",          "@@ -",
       "feature request", "## proposal",   "review thread", "## requirements", "## usage",      "## installation",
       "## what",         "docs/",         "## how "});
  if (contains_any(line, kMarks) && (!line.contains("://") || contains_any(without_addresses(line), kMarks)))
    return true;
  const std::string_view text = trim(line);
  // A list of changes: "### Fixed"
  for (const std::string_view heading : {"### Added", "### Fixed", "### Changed", "### Removed", "### Deprecated",
                                         "### Bug fixes", "### Bug Fixes", "### Features", "### Security"}) {
    if (text == heading) return true;
  }
  for (const std::string_view begin : {"fix: ", "feat: ", "docs: ", "chore: ", "refactor: ", "perf: "}) {
    if (text.starts_with(begin) || text.starts_with("# " + std::string(begin))) return true;
  }
  return false;
}

bool is_about_a_page(const Sentence& sentence) {
  if (contains_any(sentence.text, {"in this chapter", "in this section", "in this guide", "in this article",
                                   "in this tutorial", "in this post we", "this tutorial "}))
    return true;
  if (sentence.words.size() < 3 || (sentence.words[0] != "this" && sentence.words[0] != "the")) return false;
  static constexpr auto kPages =
      std::to_array<std::string_view>({"page", "section", "document", "guide", "chapter", "table", "patch", "pr",
                                       "change", "commit", "figure", "article"});
  static constexpr auto kVerbs = std::to_array<std::string_view>(
      {"describes", "lists", "explains", "shows", "contains", "covers", "adds", "documents", "gives", "summarizes"});
  return std::ranges::find(kPages, sentence.words[1]) != kPages.end() &&
         std::ranges::find(kVerbs, sentence.words[2]) != kVerbs.end();
}

bool is_of_report(std::string_view heading) {
  static constexpr auto kReports =
      std::to_array<std::string_view>({"bug", "reproduc", "environment", "version", "actual ", "current behavio",
                                       "error", "traceback", "log", "issue"});
  return contains_any(heading, kReports);
}

bool keeps_graph(std::string_view text) {
  const auto is_cut = [](std::string_view code) {
    return code.contains(".item()") || code.contains("detach") || code.contains(".data") || code.contains("float(") ||
           code.contains(".cpu()") || code.contains(".tolist()") || code.contains(".numpy()");
  };
  if (const std::size_t sum = text.find("+=");
      sum != kNowhere && sum > 0 && (is_word(text[sum - 1]) || is_blank(text[sum - 1]))) {
    const std::string_view behind = trim(text.substr(sum + 2));
    const auto end = std::ranges::find_if(behind, [](char letter) {
      return std::string_view(" `#;").contains(letter) || static_cast<unsigned char>(letter) >= 0x80;
    });
    const std::string_view added = behind.substr(0, static_cast<std::size_t>(end - behind.begin()));
    return contains_any(added, {"loss", "likelihood", "nll", "criterion"}) && !is_cut(added);
  }
  const std::size_t set = text.find(" = ");
  const std::size_t comma = set == kNowhere ? kNowhere : text.substr(0, set).rfind(", ");
  if (comma == kNowhere) return false;
  const std::string_view state = trim(text.substr(comma + 2, set - comma - 2)), call = text.substr(set + 3);
  const std::size_t open = call.find('(');
  if (open == kNowhere || state.empty() || !std::ranges::all_of(state, is_word)) return false;
  return call.substr(open).contains(", " + std::string(state) + ")") && !is_cut(call);
}

bool is_of_intent(const Sentence& sentence) {
  return sentence.has_stem({"want"}) ||
         sentence.has_word({"wonder", "wondering", "question", "curious", "plan", "planning", "like"});
}

}  // namespace vramfit::ingest
