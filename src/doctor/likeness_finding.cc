#include "doctor/likeness_finding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "doctor/all_clear.h"
#include "doctor/cause.h"
#include "doctor/likeness.h"
#include "doctor/remedies.h"
#include "doctor/stack.h"

namespace vramfit::doctor {

namespace {

constexpr double kBehind = 0.05;  // what is outranked stands so far behind

std::string all_texts(const model::Evidence& texts) {
  std::string all;
  for (const model::TextFile& file : texts.files) all += file.sample + "\n";
  return all;
}

// Its middle is not in the sample of a long text, whose end is therefore counted from its end.
std::int64_t line_at(const model::TextFile& file, std::size_t at) {
  const auto here = file.sample.begin() + static_cast<std::ptrdiff_t>(at);
  if (at < model::kSampleFirst) return 1 + std::count(file.sample.begin(), here, '\n');
  return std::max<std::int64_t>(file.lines - std::count(here, file.sample.end(), '\n'), 1);
}

// The first line that has one of the words, the weightiest word first.
model::SourceLine find_words(const model::Evidence& texts, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const std::string wanted = word.substr(0, word.find(' '));
    for (const model::TextFile& file : texts.files) {
      const std::size_t at = lowered(file.sample).find(wanted);
      if (at == std::string::npos) continue;
      const std::size_t before = at == 0 ? std::string::npos : file.sample.rfind('\n', at - 1);
      const std::size_t begin = before == std::string::npos ? 0 : before + 1;
      const std::string line = file.sample.substr(begin, file.sample.find('\n', at) - begin);
      return {file.name, line_at(file, at), line.substr(0, line.find('\r'))};
    }
  }
  return {};
}

bool only_texts(const Scene& scene) {
  return !scene.has_run() && scene.given.snapshots.empty() && !scene.given.oom_report && scene.given.unread.empty() &&
         !scene.texts.files.empty();
}

void ask_for_more(const Scene& scene, Draft& draft) {
  ask_for_traceback(scene, draft);
  ask_for_snapshot(scene, draft);
  ask_for_script(scene, draft);
}

model::Finding unlike_healthy_texts(const Scene& scene) {
  Draft draft;
  draft.weigh(0.3).severity(model::Severity::kNote).title("Texts in such words are mostly of trouble with memory");
  draft.because("nothing in it is known to be trouble, and it is not like published texts in which there is none");
  draft.confirm("what went wrong, if anything did: the message, or memory by steps");
  ask_for_more(scene, draft);
  const Cause& unknown = *find_cause("unknown");
  model::Finding finding = draft.take();
  finding.code = unknown.code;
  finding.label = unknown.label;
  return finding;
}

model::Finding like_texts_of(const Cause& cause, const Likeness& likeness, const Scene& scene, std::string_view rules) {
  Draft draft;
  draft.weigh(likeness.confidence).title(std::string(cause.title));
  draft.because(find_words(scene.texts, likeness.words),
                fmt::format("{}; published texts with such words were mostly of this one: {}", rules,
                            fmt::join(likeness.words, ", ")));
  draft.confirm(
      fmt::format("vramfit explain {}, which says what cures it: whether it is what happens here", cause.code));
  ask_for_more(scene, draft);
  model::Finding finding = draft.take();
  finding.code = cause.code;
  finding.label = cause.label;
  return finding;
}

double healthy_to_clear(const model::Evidence& texts) {
  const bool is_genre_alone =
      std::ranges::all_of(texts.files, [](const model::TextFile& file) { return file.genre != model::Genre::kNone; });
  return is_genre_alone ? kHealthyToClearGenre : kHealthyToClear;
}

bool outranks(const Likeness& likeness, const model::Finding& found) {
  return likeness.code != found.code && likeness.share >= kShareToOutrank * (1 - likeness.healthy) &&
         likeness.share > kLikelier * likeness.share_of(found.code);
}

// Rules found a cause, but only by what somebody says of it.
void weigh_against_known_texts(const Scene& scene, std::vector<model::Finding>& findings) {
  const Likeness likeness = compare_with_known(all_texts(scene.texts));
  const Cause* cause = find_cause(likeness.code);
  if (cause == nullptr || likeness.known_words < kFewestToName || !outranks(likeness, findings.front())) return;
  std::erase_if(findings, [&](const model::Finding& other) { return other.code == likeness.code; });
  model::Finding likelier = like_texts_of(*cause, likeness, scene, "what the rules found is less likely");
  for (model::Finding& other : findings) {
    other.confidence = std::min(other.confidence, std::max(0.0, likelier.confidence - kBehind));
  }
  findings.insert(findings.begin(), std::move(likelier));
}

}  // namespace

void ask_known_texts(const Scene& scene, std::vector<model::Finding>& findings) {
  const bool is_clear = findings.empty();
  if (!only_texts(scene)) return;
  if (!is_clear && findings.front().label != "unknown") {
    const bool is_told = scene.oom == nullptr && scene.texts.tracebacks.empty();
    if (is_told && findings.front().confidence <= kUnsure) weigh_against_known_texts(scene, findings);
    return;
  }
  if (is_clear && find_other_failure(scene)) return;  // what failed is known, and is no matter of memory
  const Likeness likeness = compare_with_known(all_texts(scene.texts));
  if (likeness.known_words < kFewestToDoubt || (is_clear && likeness.healthy >= healthy_to_clear(scene.texts))) return;
  const Cause* cause = find_cause(likeness.code);
  if (cause != nullptr && likeness.known_words >= kFewestToName && likeness.share >= kShareToName &&
      likeness.healthy < kHealthyToName) {
    findings.insert(findings.begin(), like_texts_of(*cause, likeness, scene, "no rule tells the cause"));
  } else if (is_clear) {
    findings.push_back(unlike_healthy_texts(scene));
  }
}

}  // namespace vramfit::doctor
