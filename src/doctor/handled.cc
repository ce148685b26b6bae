#include "doctor/handled.h"

#include <algorithm>
#include <string>
#include <vector>

#include "doctor/scene.h"

namespace vramfit::doctor {
namespace {

// Lines that tell one failure, before the line that says what is done about it.
constexpr std::int64_t kLinesOfOne = 6;

class Handled {
 public:
  explicit Handled(const model::Evidence& texts) {
    for (const model::Remarkable& remark : texts.remarks) {
      if (remark.kind == model::SentenceKind::kTriedOtherwise) tries_.push_back(remark.at);
      // An error follows where none was left to take.
      const bool failed_then = std::ranges::any_of(texts.other_errors, [&](const model::SourceLine& error) {
        return error.file == remark.at.file && error.line > remark.at.line;
      });
      if (remark.kind == model::SentenceKind::kTacticSkipped && !failed_then) tries_.push_back(remark.at);
    }
  }

  bool empty() const { return tries_.empty(); }
  bool covers(const model::SourceLine& at) const {
    return std::ranges::any_of(tries_, [&](const model::SourceLine& tried) {
      return tried.file == at.file && at.line <= tried.line && tried.line - at.line <= kLinesOfOne;
    });
  }

  template <class Entry>
  void drop_from(std::vector<Entry>& entries) const {
    std::erase_if(entries, [&](const Entry& entry) {
      if constexpr (requires { entry.at; })
        return covers(entry.at);
      else
        return covers(entry);
    });
  }

 private:
  std::vector<model::SourceLine> tries_;
};

}  // namespace

std::optional<model::Evidence> without_handled(const model::Evidence& texts) {
  const Handled handled(texts);
  if (handled.empty()) return std::nullopt;
  model::Evidence left = texts;
  handled.drop_from(left.ooms);
  handled.drop_from(left.library_errors);
  handled.drop_from(left.foreign);
  handled.drop_from(left.oom_mentions);
  handled.drop_from(left.supposed);
  handled.drop_from(left.memory_words);
  handled.drop_from(left.told);
  handled.drop_from(left.other_errors);
  for (model::TextFile& file : left.files) {
    for (auto* said : {&file.not_understood, &file.not_understood_of_writer}) {
      if (*said && handled.covers(**said)) said->reset();
    }
  }
  return left;
}

std::optional<model::SourceLine> find_got_over(const Scene& scene) {
  const model::Evidence &given = scene.given.texts, &left = scene.texts;
  const auto is_of = [](const model::SourceLine& one, const model::SourceLine& at) {
    return one.file == at.file && one.line == at.line;
  };
  const auto is_left = [&](const auto& entries, const model::SourceLine& at) {
    return std::ranges::any_of(entries, [&](const auto& entry) { return is_of(entry.at, at); });
  };
  for (const model::OomMessage& oom : given.ooms) {
    if (scene.was_handled(oom.at) || !is_left(left.ooms, oom.at)) return oom.at;
  }
  for (const model::ForeignDump& dump : given.foreign) {
    if (says_failure(dump) && !is_left(left.foreign, dump.at)) return dump.at;
  }
  for (const model::SourceLine& at : given.oom_mentions) {
    if (scene.was_handled(at) ||
        std::ranges::none_of(left.oom_mentions, [&](const auto& one) { return is_of(one, at); }))
      return at;
  }
  return std::nullopt;
}

}  // namespace vramfit::doctor
