#include "doctor/likeness_finding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "doctor/all_clear.h"
#include "doctor/cause.h"
#include "doctor/likeness.h"
#include "doctor/not_run.h"
#include "doctor/remedies.h"
#include "doctor/stack.h"

namespace vramfit::doctor {

namespace {

constexpr double kBehind = 0.05;  // what is outranked stands so far behind

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

// A text that only speaks of memory may be a question, a wish or somebody's review.
bool has_failed_allocation(const Scene& scene) {
  return !scene.texts.ooms.empty() || !scene.texts.foreign.empty() || !scene.texts.oom_mentions.empty() ||
         !scene.texts.memory_words.empty();
}

// Where "no trouble" has a part of the vote too, half of the causes that are named so are right; and one of two is no
// surer than its part of them.
double confidence_in(const Scene& scene, const Likeness& likeness, const Gates& gates) {
  constexpr double kPerhaps = 0.45;
  const double of_two = likeness.share / (likeness.share + likeness.next);
  const bool is_sure = has_failed_allocation(scene) && likeness.healthy < gates.healthy_to_be_sure;
  const double most = is_sure ? of_two : std::min(of_two, kPerhaps);
  return std::min(likeness.confidence, most);
}

model::Finding like_texts_of(const Cause& cause, double confidence, const Likeness& likeness, const Scene& scene,
                             std::string_view rules) {
  Draft draft;
  draft.weigh(confidence).title(std::string(cause.title));
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

// What a kernel's own assertion left behind, and what a program said that it got over, is known for sure.
bool is_sure_to_be_well(const Scene& scene) {
  const bool got_over =
      scene.given.texts.ooms.size() + scene.given.texts.foreign.size() >
          scene.texts.ooms.size() + scene.texts.foreign.size() ||
      std::ranges::any_of(scene.texts.ooms, [&](const model::OomMessage& oom) { return scene.was_handled(oom.at); });
  return scene.kernel_failed() || got_over;
}

// The share of the vote that a text has to earn. What programs print the rules know better than what people say beside
// it.
double price_of_all_clear(const Scene& scene, const Gates& gates, bool is_short) {
  const bool is_written =
      std::ranges::any_of(scene.texts.files, [](const model::TextFile& file) { return file.has_prose; });
  const bool failed_otherwise = find_other_failure(scene).has_value();
  if (!is_written) return failed_otherwise || is_short ? 0 : gates.healthy_to_clear_printed;
  const double most = is_short ? gates.healthy_to_clear_short : 1;
  if (failed_otherwise) return std::min(gates.healthy_to_clear_failure, most);
  double price = 0;
  for (const model::TextFile& file : scene.texts.files) {
    switch (file.kind) {
      case model::TextKind::kNone:
        price = std::max(price, gates.healthy_to_clear);
        break;
      case model::TextKind::kQuestion:
        price = std::max(price, gates.healthy_to_clear_question);
        break;
      case model::TextKind::kSource:
      case model::TextKind::kDocument:
        price = std::max(price, gates.healthy_to_clear_document);
        break;
    }
  }
  return std::min(price, most);
}

// Published texts are what people write of what happened to them: of messages alone the rules know which are of what,
// and a document tells of nobody.
bool is_told_by_somebody(const model::TextFile& file) {
  return file.has_prose && file.kind != model::TextKind::kDocument && file.kind != model::TextKind::kSource;
}

// Whatever its length, what somebody tells in words that are more like those of one cause than like those of none is
// not green, unless he has looked, and nothing grows. What programs print the rules know.
bool is_more_like_a_cause(const Scene& scene, const Likeness& likeness) {
  const auto is_prose = [](const model::TextFile& file) {
    return is_told_by_somebody(file) && file.looks != model::TextLooks::kLog;
  };
  return likeness.share > likeness.healthy && std::ranges::any_of(scene.texts.files, is_prose) &&
         std::ranges::none_of(scene.texts.told, &model::ToldSentence::denies_growth);
}

bool earns_all_clear(const Scene& scene, const Likeness& likeness, const Gates& gates) {
  if (likeness.known_words < gates.fewest_to_compare) return true;
  if (is_more_like_a_cause(scene, likeness)) return false;
  const bool is_short = likeness.known_words < gates.fewest_to_doubt;
  return likeness.known_words < gates.fewest_to_doubt_short ||
         likeness.healthy >= price_of_all_clear(scene, gates, is_short);
}

// Causes of the host, where growth or trouble is said to be of the card's memory. Words of a long text are mostly of
// other things.
std::span<const std::string_view> ruled_out_by_what_is_told(const Scene& scene) {
  static constexpr auto kOfHost = std::to_array<std::string_view>({"VF501", "VF502", "VF503"});
  const auto tells_of = [&](model::ToldOf of) {
    return std::ranges::any_of(scene.texts.told, [&](const model::ToldSentence& told) {
      return told.of == of && (told.kind == model::ToldKind::kRises || told.kind == model::ToldKind::kTrouble);
    });
  };
  const bool shows_host = scene.host_oom != nullptr || !scene.texts.host_kills.empty() || !scene.texts.host.empty() ||
                          find_remark(scene, model::SentenceKind::kToldKilled) != nullptr;
  const bool is_of_card = tells_of(model::ToldOf::kCard) && !tells_of(model::ToldOf::kHost) && !shows_host;
  return is_of_card ? std::span<const std::string_view>(kOfHost) : std::span<const std::string_view>();
}

Likeness compare(const Scene& scene, const KnownTexts& known) {
  return known.compare(words_compared(scene), ruled_out_by_what_is_told(scene));
}

bool is_told_apart(const Likeness& likeness, const Gates& gates) {
  return likeness.share >= gates.share_to_name && likeness.share >= gates.times_the_next * likeness.next &&
         likeness.healthy < gates.healthy_to_name;
}

// That memory grows, or that the card is full, is seen by anybody; why, or that it is another's, is what texts in such
// words tell. Other causes are known by a sign of their own, and rules were right of them more often.
bool leaves_open_why(const model::Finding& found) {
  return found.label == "leak_growth" || found.label == "capacity_exceeded";
}

// Causes that the numbers of an out-of-memory message show or rule out.
bool is_shown_by_numbers(std::string_view code) {
  for (const std::string_view label : {"fragmentation", "fraction_limit", "other_process", "free_but_failed",
                                       "driver_overhead", "single_huge_allocation", "size_computation_bug"}) {
    if (find_cause(label)->code == code) return true;
  }
  return false;
}

// The message has numbers, and no rule saw the cause in them with some reason.
bool is_ruled_out(const Scene& scene, const std::vector<model::Finding>& findings, std::string_view code) {
  constexpr double kWithReason = 0.35;
  return scene.oom_has_numbers && is_shown_by_numbers(code) &&
         std::ranges::none_of(findings, [&](const model::Finding& finding) {
           return finding.code == code && finding.confidence > kWithReason;
         });
}

bool is_likelier(const Likeness& likeness, const model::Finding& found, bool has_numbers, const Gates& gates) {
  const bool is_unsure = found.confidence <= gates.unsure && !(has_numbers && is_shown_by_numbers(found.code));
  const double likelier = !is_unsure               ? gates.far_likelier
                          : leaves_open_why(found) ? gates.likelier
                                                   : gates.much_likelier;
  return likeness.code != found.code && likeness.healthy < gates.healthy_to_outrank &&
         likeness.share >= gates.share_to_outrank * (1 - likeness.healthy) &&
         likeness.share > likelier * likeness.share_of(found.code);
}

void put_before(model::Finding likelier, std::vector<model::Finding>& findings) {
  std::erase_if(findings, [&](const model::Finding& other) { return other.code == likelier.code; });
  for (model::Finding& other : findings)
    other.confidence = std::min(other.confidence, std::max(0.0, likelier.confidence - kBehind));
  findings.insert(findings.begin(), std::move(likelier));
}

// What stands behind "Tried to allocate" in an out-of-memory message is the same whatever the cause, but for its
// numbers, and those the rules have read. It is six times as long as what many people write beside it.
std::string words_beside_messages(const Scene& scene) {
  constexpr std::string_view kTried = "Tried to allocate";
  std::string all = words_compared(scene);
  for (std::size_t at = all.find(kTried); at != std::string::npos; at = all.find(kTried, at)) {
    all.erase(at, std::min(all.find('\n', at), all.size()) - at);
  }
  return all;
}

// Rules found a cause, and are not sure of it. Where they only know that the card is full, the message said so: why is
// in what somebody wrote beside it.
void weigh_against_known_texts(const Scene& scene, std::vector<model::Finding>& findings, const KnownTexts& known,
                               const Gates& gates) {
  const bool is_full_alone = scene.oom_has_numbers && findings.front().confidence <= gates.unsure &&
                             findings.front().label == "capacity_exceeded";
  const Likeness likeness = is_full_alone
                                ? known.compare(words_beside_messages(scene), ruled_out_by_what_is_told(scene))
                                : compare(scene, known);
  if (is_full_alone && likeness.share < gates.share_beside_message) return;
  const Cause* cause = find_cause(likeness.code);
  if (cause == nullptr || likeness.known_words < gates.fewest_to_name) return;
  if (is_ruled_out(scene, findings, likeness.code)) return;
  // What a message's numbers show outside of PyTorch is there, whatever the words are like.
  if (scene.oom_has_numbers && findings.front().label == "other_process") return;
  if (!is_likelier(likeness, findings.front(), scene.oom_has_numbers, gates)) return;
  put_before(like_texts_of(*cause, confidence_in(scene, likeness, gates), likeness, scene,
                           "what the rules found is less likely"),
             findings);
}

// The likeliest cause, and the next one where that is about as likely.
void name_likeliest(const Scene& scene, const Likeness& likeness, const Gates& gates,
                    std::vector<model::Finding>& findings) {
  constexpr double kAboutAsLikely = 0.5;
  constexpr std::string_view kNoRule = "no rule tells the cause";
  const Cause* cause = find_cause(likeness.code);
  const Cause* next = find_cause(likeness.next_code);
  if (cause == nullptr) return;
  const double confidence = confidence_in(scene, likeness, gates);
  const double part = likeness.next / likeness.share;
  if (next != nullptr && part >= kAboutAsLikely) {
    // A text has one cause as a rule: what the first leaves is the next one's at most.
    const double of_next = std::min(confidence * part, 1 - confidence);
    findings.insert(findings.begin(), like_texts_of(*next, of_next, likeness, scene, kNoRule));
  }
  put_before(like_texts_of(*cause, confidence, likeness, scene, kNoRule), findings);
}

}  // namespace

std::string words_compared(const Scene& scene) {
  std::string all;
  for (const model::TextFile& file : scene.texts.files) all += file.sample + "\n";
  return all;
}

void ask_known_texts(const Scene& scene, std::vector<model::Finding>& findings, const KnownTexts& known,
                     const Gates& gates) {
  if (!only_texts(scene) || was_nothing_run(scene)) return;  // source is like source, whatever it does
  const bool is_clear = findings.empty();
  if (!is_clear && findings.front().label != "unknown") {
    const bool is_told = std::ranges::any_of(scene.texts.files, is_told_by_somebody);
    if (is_told && findings.front().confidence <= gates.sure) weigh_against_known_texts(scene, findings, known, gates);
    return;
  }
  const Likeness likeness = compare(scene, known);
  if (is_clear) {  // nothing that the rules know of is wrong: then the vote's likeliest cause was none as often as not
    if (!is_sure_to_be_well(scene) && !earns_all_clear(scene, likeness, gates))
      findings.push_back(unlike_healthy_texts(scene));
    return;
  }
  if (!std::ranges::any_of(scene.texts.files, is_told_by_somebody)) return;
  if (likeness.known_words >= gates.fewest_to_name && is_told_apart(likeness, gates))
    name_likeliest(scene, likeness, gates, findings);
}

}  // namespace vramfit::doctor
