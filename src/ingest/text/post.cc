#include "ingest/text/post.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "ingest/text/cursor.h"
#include "ingest/text/line_kind.h"
#include "ingest/text/line_text.h"
#include "ingest/text/memory_trouble.h"
#include "ingest/text/oom_mention.h"
#include "ingest/text/other_error.h"
#include "ingest/text/post_marks.h"
#include "ingest/text/sentence.h"
#include "ingest/text/told_cause.h"
#include "ingest/text/told_memory.h"
#include "model/evidence_lists.h"

namespace vramfit::ingest {
namespace {

using model::SentenceKind;
using model::ToldKind;
using model::ToldSentence;

constexpr std::int64_t kLinesOfPost = 4000;  // what is longer is a log: then only lines with words of memory are read
constexpr std::size_t kWrapped = 50;         // letters from which on a line without an end of a sentence goes on
constexpr std::size_t kLongestParagraph = 8192;  // bytes, in a log: wrapped prose ends its sentences sooner
constexpr std::size_t kMostTold = 256;
constexpr std::size_t kFewestOfReport = 4;        // "Hi all", "Thanks in advance" say nothing
constexpr std::size_t kFewestBytesOfReport = 18;  // six letters of Chinese or Japanese: "help, thanks" is shorter

class PostReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    ++read_;
    if (file_.empty()) file_ = sink.at(line).file;
    const std::string_view text = line.text;
    if (trim(text).empty()) {
      open_ = 0;
      end_paragraph(sink);
      example_ = example_ == Example::kBegun ? Example::kNone : example_;
      return;
    }
    if (is_of_document(line.whole) && !is_error_line(trim(line.text)) &&
        !line.whole.contains(" I ")) {  // "- [x] I have the newest driver"
      ++document_marks_;
      is_page_ = is_page_ || (is_heading(line.whole) && !contains_ignoring_case(line.whole, "happen"));
    }
    if (is_heading(line.whole) && is_of_report(line.whole)) is_report_ = true;
    if (is_heading(line.whole)) {
      end_paragraph(sink);
      in_wish_ = is_wish(line.whole);
      if (!is_prose(text)) return;
    }
    if (example_ != Example::kNone) {
      example_ = Example::kBegun;
      example_lines_.insert(line.number);
    }
    ++lines_;
    if (opens_or_closes_docstring(text)) in_docstring_ = !in_docstring_;
    if (keeps_graph(text))
      sink.add(sink.evidence().remarks, {sink.at(line), line.speaker, SentenceKind::kKeepsGraph}, "remarks");
    // A traceback quotes one line of a statement, whatever that leaves open.
    if (is_error_line(text) || trim(text).starts_with("File \"")) open_ = 0;
    const bool is_continued = open_ > 0;  // within the parentheses of a statement above
    // So does a warning of Python's, with the line that gave it: "  warnings.warn(".
    const bool is_of_warning = is_below_warning_ && text.starts_with(' ');
    is_below_warning_ = text.contains("Warning: ") && text.contains(".py:");
    const bool is_statement = !is_of_warning && (is_continued || is_code(line.whole));
    if (is_statement) {
      open_ = std::max<std::int64_t>(0, open_ + std::ranges::count(text, '(') - std::ranges::count(text, ')'));
    }
    if (is_statement || trim(text).starts_with('#')) ++code_lines_;
    const std::string_view prefix = trim(line.whole.substr(0, line.whole.size() - line.text.size()));
    const bool is_logged = std::ranges::any_of(prefix, [](char letter) { return letter != '>' && letter != '#'; });
    if (!is_logged && (is_source(text) || (is_continued && names_a_failure(text)))) {
      ++handling_lines_;
      end_paragraph(sink);
      hypothetical_.insert(line.number);
      return;
    }
    if (is_logged || is_error_line(text) || tells_error_of_program(text) || text.starts_with('['))
      program_lines_.insert(line.number);
    const bool is_no_failure = contains_ignoring_case(text, "not a failure");  // TensorFlow, of a request it retries
    if (is_logged || is_no_failure || !is_prose(text)) {
      end_paragraph(sink);
      return;
    }
    const bool is_of_log = read_ > kLinesOfPost;
    const bool is_too_long = is_of_log && paragraph_.size() > kLongestParagraph;
    const bool goes_on = !paragraph_.empty() && !is_too_long && last_length_ >= kWrapped &&
                         !ends_sentence(paragraph_) && !begins_item(text);
    if (!goes_on) end_paragraph(sink);
    // In a log, a line that begins a paragraph and has no word of memory would keep all lines behind it wanted.
    if (!goes_on && is_of_log && !line.has_words) return;
    if (paragraph_.empty()) {
      is_answer_ = trim(line.whole).starts_with('>');
      is_comment_ = in_docstring_ || trim(line.whole).starts_with('#');
    }
    if (!paragraph_.empty()) paragraph_ += ' ';
    begins_.emplace_back(paragraph_.size(), sink.at(line));
    paragraph_ += trim(text);
    last_length_ = text.size();
  }

  bool wants_more() const override { return read_ < kLinesOfPost || !paragraph_.empty(); }

  void finish(EvidenceSink& sink) override {
    end_paragraph(sink);
    if (document_marks_ == 0 || is_report_) example_lines_.clear();
    model::Evidence& evidence = sink.evidence();
    // What has a card's numbers was printed by a program, whatever stands around it: a sample is announced as one.
    std::erase_if(evidence.ooms, [&](const model::OomMessage& oom) {
      return oom.tried && oom.total ? example_lines_.contains(oom.at.line) : is_hypothetical(oom.at);
    });
    drop_examples(evidence);
    const model::TextKind kind = judge_kind();
    const bool is_general = kind == model::TextKind::kDocument && document_marks_ > 0 && by_writer_ == 0;
    const auto is_no_report = [&](const model::SourceLine& at) {
      if (at.file != file_) return false;
      const bool is_prose_of_it = judged_.contains(at.line) || in_trouble_.contains(at.line);
      return is_hypothetical(at) || (is_general && !program_lines_.contains(at.line)) ||
             (is_prose_of_it && !in_trouble_.contains(at.line) && !program_lines_.contains(at.line));
    };
    const auto is_of_page = [&](const model::SourceLine& at) {
      const bool is_prose_of_it = judged_.contains(at.line) || in_trouble_.contains(at.line);
      return is_general && is_page_ && is_prose_of_it && at.file == file_ && !program_lines_.contains(at.line);
    };
    std::erase_if(evidence.host_kills, [&](const model::HostKill& kill) { return is_of_page(kill.at); });
    std::erase_if(evidence.foreign, [&](const model::ForeignDump& dump) { return is_of_page(dump.at); });
    std::erase_if(evidence.oom_mentions, [&](const model::SourceLine& at) {
      return is_hypothetical(at) || is_of_page(at) ||
             (at.file == file_ && well_.contains(at.line) && !in_trouble_.contains(at.line));
    });
    std::erase_if(evidence.memory_words, is_no_report);
    // What cured it holds an all-clear back, wherever it stands.
    std::erase_if(evidence.remarks, [&](const model::Remarkable& remark) {
      const bool is_sign = model::is_told(remark.kind) && model::cause_named_by(remark.kind).empty() &&
                           remark.kind != SentenceKind::kToldMemoryCured;
      return is_sign && (is_hypothetical(remark.at) || (is_general && remark.at.file == file_));
    });
    evidence.files.back().kind = kind;
    evidence.files.back().has_prose = tells_something_ || moods_[Mood::kAsked] > 0;
    std::erase_if(evidence.told, [&](const ToldSentence& told) {
      const bool is_answer = kind == model::TextKind::kQuestion && answers_.contains(told.at.line);
      const bool is_report =
          reports_by_writer_.contains(told.at.line) || (reports_.contains(told.at.line) && !is_answer);
      return told.at.file == file_ && told.kind == ToldKind::kMentioned && !is_report;
    });
    // A figure that was read is understood: "CUDA memory after the step: 4194304000".
    std::erase_if(evidence.told, [&](const ToldSentence& told) {
      return told.kind == ToldKind::kMentioned && told.at.file == file_ &&
             std::ranges::any_of(evidence.training, [&](const model::TrainingLogPoint& point) {
               return point.at.line == told.at.line && point.at.file == file_;
             });
    });
    // What a document says of memory is so in general, where nobody in it tells what happened to him.
    for (ToldSentence& told : evidence.told) {
      const bool happens = told.kind == ToldKind::kRises || told.kind == ToldKind::kTrouble;
      if (is_general && happens) told.kind = ToldKind::kMentioned;
    }
  }

 private:
  enum class Example { kNone, kAnnounced, kBegun };

  static bool ends_sentence(std::string_view text) {
    return text.ends_with('.') || text.ends_with('?') || text.ends_with('!') || text.ends_with(':');
  }
  static bool begins_item(std::string_view text) {
    const std::string_view line = trim(text);
    return line.starts_with("- ") || line.starts_with("* ") || line.starts_with('>') || line.starts_with('#') ||
           (is_digit(line[0]) && line.contains(". "));
  }
  // One mark of several lines of text within a program: three quotes that are not closed on their line.
  static bool opens_or_closes_docstring(std::string_view text) {
    const auto count = [&](std::string_view mark) {
      int found = 0;
      for (std::size_t at = text.find(mark); at != kNowhere; at = text.find(mark, at + mark.size())) ++found;
      return found;
    };
    return (count("\"\"\"") + count("'''")) % 2 == 1;
  }
  // Source that lists, raises or handles errors. What a traceback quotes is not taken out: it has a reader of its own.
  static bool is_source(std::string_view text) { return is_code(text) && names_a_failure(text); }

  // The line of a place in the paragraph, whose lines are known by where they begin.
  const model::SourceLine& line_at(std::size_t place) const {
    const auto after = std::ranges::upper_bound(begins_, place, {}, [](const auto& begin) { return begin.first; });
    return after == begins_.begin() ? begins_.front().second : std::prev(after)->second;
  }

  void end_paragraph(EvidenceSink& sink) {
    std::size_t from = 0;
    for (Sentence& sentence : split_sentences(paragraph_, 0, 0)) {
      const std::size_t at = std::min(paragraph_.find(sentence.text, from), paragraph_.size());
      from = at == paragraph_.size() ? from : at + 1;
      const model::SourceLine& where = line_at(at);
      sentence.line = where.line;
      sentence.last_line = line_at(at + std::max<std::size_t>(sentence.text.size(), 1) - 1).line;
      take(sentence, where, sink);
    }
    const bool announces = announces_;
    announces_ = false;
    if (announces) example_ = Example::kAnnounced;
    paragraph_.clear();
    begins_.clear();
  }

  void take(Sentence& sentence, const model::SourceLine& at, EvidenceSink& sink) {
    if (in_wish_ && !sentence.is_of_writer()) sentence.mood = Mood::kHypothetical;
    // What is quoted, somebody else asks.
    if (!is_answer_ || sentence.mood != Mood::kAsked) ++moods_[sentence.mood];
    auto told = read_told(sentence, before_);
    // What a question says before it asks counts as said, where it is of trouble or nobody can tell whose words it is.
    bool is_said = sentence.mood == Mood::kAsserted;
    if (const auto said = said_before_question(sentence)) {
      auto before_it = read_told(*said, before_);
      const bool is_of_trouble =
          before_it && (before_it->kind == ToldKind::kRises || before_it->kind == ToldKind::kTrouble);
      if (is_of_trouble || (before_it && !sentence.can_tell_writer() && before_it->kind != ToldKind::kIsWell)) {
        told = std::move(before_it);
        is_said = said->mood == Mood::kAsserted;
      }
    }
    if (is_about_a_page(sentence)) {
      ++document_marks_;
      is_page_ = true;
    } else if (sentence.is_of_writer()) {
      ++by_writer_;
    }
    const bool happened = sentence.mood == Mood::kAsserted || sentence.mood == Mood::kAsked;
    if (names_a_failure(sentence.text)) {
      // A word of trouble that stands in it is judged with it, and not beside that of the sentence before.
      const bool is_well = told && told->kind == ToldKind::kIsWell;
      const bool is_told = !is_well && happened && (sentence.mood != Mood::kAsked || sentence.has_word({"why"})) &&
                           (find_memory_trouble(sentence.text) || mentions_oom(sentence.text));
      for (std::int64_t line = sentence.line; line <= sentence.last_line; ++line) {
        (happened ? happened_ : hypothetical_).insert(line);
        (is_told ? in_trouble_ : judged_).insert(line);
        if (is_well) well_.insert(line);
      }
    }
    // "The message will now read", "new output would look like": a sample follows, where the text is a document.
    announces_ =
        sentence.has_word({"will", "now", "new", "would"}) &&
        (sentence.has_word({"like", "follows", "read", "reads", "print", "prints", "look", "looks", "say", "says"}) ||
         sentence.text.ends_with(':'));
    for (const SentenceKind cause : told_causes(sentence)) {
      sink.add(sink.evidence().remarks, {at, {}, cause}, "remarks");
      sink.evidence().remarks.back().at.text = cut_text(sentence.text, sink.limits().longest_quote);
    }
    // Scripts without spaces have a word for each of their stretches.
    const bool is_long = sentence.words.size() >= kFewestOfReport ||
                         (!sentence.can_tell_writer() && sentence.text.size() >= kFewestBytesOfReport);
    if (sentence.mood == Mood::kAsserted && !is_comment_ && (is_long || !sentence.can_tell_writer()))
      tells_something_ = true;
    if (!told && sentence.mood == Mood::kAsserted && is_long) {
      const model::SourceLine where{at.file, at.line, cut_text(sentence.text, sink.limits().longest_quote)};
      model::TextFile& file = sink.evidence().files.back();
      if (!file.not_understood) file.not_understood = where;
      file.last_not_understood = where.line;
      if (!file.not_understood_of_writer && sentence.is_of_writer() && !is_of_intent(sentence))
        file.not_understood_of_writer = where;
    }
    if (told) {
      told->at = at;
      told->at.text = cut_text(sentence.text, sink.limits().longest_quote);
      // In a question, what others answer is no report either.
      const bool is_report = is_said && !is_of_intent(sentence);
      const bool is_of_writer = sentence.is_of_writer() || (!is_answer_ && !sentence.can_tell_writer());
      if (is_report) (is_of_writer ? reports_by_writer_ : reports_).insert(at.line);
      if (is_answer_) answers_.insert(at.line);
      if (sink.evidence().told.size() < kMostTold) sink.evidence().told.push_back(*told);
      before_ = std::move(told);
    }
  }

  bool is_hypothetical(const model::SourceLine& at) const {
    if (at.file != file_) return false;
    return example_lines_.contains(at.line) || (hypothetical_.contains(at.line) && !happened_.contains(at.line));
  }
  bool is_hypothetical(const auto& entry) const { return is_hypothetical(entry.at); }

  void drop_examples(model::Evidence& evidence) const {
    model::for_each_evidence_list([&](const auto& each) {
      if constexpr (std::remove_cvref_t<decltype(each)>::kExamples == model::Examples::kDropped) {
        std::erase_if(evidence.*each.list, [&](const auto& entry) { return is_hypothetical(entry); });
      }
    });
  }

  model::TextKind judge_kind() const {
    const auto count = [&](Mood mood) {
      const auto found = moods_.find(mood);
      return found == moods_.end() ? 0 : found->second;
    };
    const int asserted = count(Mood::kAsserted), asked = count(Mood::kAsked);
    const int not_happened = count(Mood::kHypothetical) + count(Mood::kInstruction);
    if (document_marks_ > 0 && !is_report_) return model::TextKind::kDocument;
    if (handling_lines_ > 0 && code_lines_ * 2 > lines_ && !tells_something_) return model::TextKind::kSource;
    if (asked > 0) return model::TextKind::kQuestion;
    if (program_lines_.empty() && !is_report_ && by_writer_ == 0 && not_happened > 0 && not_happened >= asserted)
      return model::TextKind::kDocument;
    return model::TextKind::kNone;
  }

  std::int64_t read_ = 0;
  std::string file_;
  std::string paragraph_;
  std::vector<std::pair<std::size_t, model::SourceLine>> begins_;  // of its lines: where in it, and which
  std::size_t last_length_ = 0;
  bool tells_something_ = false;  // prose beside the source
  bool is_below_warning_ = false;
  bool in_docstring_ = false, is_comment_ = false;
  bool is_answer_ = false;  // the paragraph stands behind ">"
  bool in_wish_ = false, announces_ = false, is_report_ = false;
  bool is_page_ = false;  // a document says so of itself; "refer to the documentation" is said anywhere
  Example example_ = Example::kNone;
  std::optional<ToldSentence> before_;
  std::set<std::int64_t> hypothetical_, happened_, example_lines_, judged_, in_trouble_, program_lines_, reports_,
      reports_by_writer_, answers_, well_;
  std::map<Mood, int> moods_;
  int document_marks_ = 0, by_writer_ = 0;
  std::int64_t open_ = 0;  // parentheses of source
  std::int64_t lines_ = 0, code_lines_ = 0, handling_lines_ = 0;
};

constexpr auto kPostWords =
    std::to_array<std::string_view>({"memory", " vram", "vram ", " ram ", "gpu usage", "freez", "froze", "crash",
                                     "显存", "内存", "speicher", "mémoire", "памят", "メモリ", "메모리"});

}  // namespace

const TextFormat kPostFormat{"post", kPostWords, [] { return std::unique_ptr<TextReader>(new PostReader); }};

}  // namespace vramfit::ingest
