// What a text is like: published texts whose causes are known vote on it by their words. For what no rule is sure of:
// rules list what people may say, and people say it otherwise. bench/doctor/learn.py makes the table, and says how
// often such a vote is right of texts that it has not seen.
#ifndef VRAMFIT_DOCTOR_LIKENESS_H
#define VRAMFIT_DOCTOR_LIKENESS_H

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace vramfit::doctor {

struct CodeShare {
  std::string_view code;  // "VF401"; "none": no trouble with memory
  double share = 0;
};

struct Likeness {
  double healthy = 0;                            // the share of the vote for "no trouble with memory", 0 to 1
  double share = 0;                              // that of the likeliest cause
  double next = 0;                               // and of the next likeliest
  std::string_view code, next_code;              // of the likeliest: "VF401"; of the next
  double confidence = 0;                         // how often a cause with such a share is right; below 0.7
  std::vector<std::string> words;                // that speak for it most, at most four: "in use", "nvidia_smi"
  std::size_t known_words = 0;                   // and pairs of words, that the table has
  std::vector<CodeShare> shares;                 // of all
  double share_of(std::string_view code) const;  // 0: a code that no text had
};

struct LikenessRow {
  double rarity = 0;         // how much one occurrence counts
  std::string_view weights;  // a letter for each code
};

// The texts that are compared with, by what was learnt of them.
class KnownTexts {
 public:
  // One line each: four of settings ("codes", "bias", "shares", "right"), then a word, two, or a piece of one, with its
  // weights. The lines outlive it.
  explicit KnownTexts(std::span<const char* const> lines);
  static const KnownTexts& built_in();

  // Causes that are ruled out keep their shares, and are never the likeliest.
  Likeness compare(std::string_view text, std::span<const std::string_view> ruled_out = {}) const;

  const std::vector<std::string_view>& codes() const { return codes_; }
  const std::vector<double>& bias() const { return bias_; }
  const LikenessRow* find(const std::string& word) const;

 private:
  double right_at(double share) const;

  std::vector<std::string_view> codes_;
  std::vector<double> bias_, shares_, right_;
  std::unordered_map<std::string_view, LikenessRow> rows_;
};

// In order: words of two letters or more in small letters, "0" for each number, "hex" for an address, and each letter
// of a script that is not Latin by itself. Terminals' colours are none.
std::vector<std::string> words_that_count(std::string_view text);

// Letters in a row, of a word with its ends: "~<kil", "~kill", "~led>" of "killed". Words that nobody wrote before have
// pieces that somebody did.
std::vector<std::string> pieces_of(const std::string& word);

// What a vote must have to be heard: bench/doctor/learn.py --check says what becomes of left-out texts by these.
struct Gates {
  double share_to_name = 0.15;   // from here on a cause is named,
  double times_the_next = 1;     // where its share is so many times that of the next one,
  double healthy_to_name = 0.4;  // and that for "no trouble" below this
  // "All well" is earned: so large has the vote for it to be of a log that somebody tells of, of a text that is only
  // known as a question, of a document or a program's source, and where another error is named, which mostly is why,
  double healthy_to_clear = 0.65, healthy_to_clear_question = 0.75, healthy_to_clear_document = 0.6;
  double healthy_to_clear_failure = 0.5;
  double healthy_to_clear_printed = 0.2;  // and where nobody writes anything beside what programs printed.
  double healthy_to_clear_short = 0.2;    // A short text that somebody wrote has to earn no more than this.
  // What rules are no surer of than `sure` gives way to another cause that has this share of the vote for trouble, and
  // so many times the share of theirs: few where they only know that memory grows or is full, more where they know a
  // sign, most where they are surer of it than `unsure`.
  double unsure = 0.65, sure = 0.8, share_to_outrank = 0.2;
  // What a cause has of the vote of the few words beside a message that the rules know in full.
  double share_beside_message = 0.5;
  double likelier = 1.2, much_likelier = 5, far_likelier = 15;
  double healthy_to_outrank = 0.5;  // Where "no trouble" has half of the vote, what rules found stays.
  // A vote is told as it was right where less than this was for "no trouble"; else as one of the least share.
  double healthy_to_be_sure = 0.2;
  // Words and pairs that are known. From `fewest_to_name` on short texts are told as rightly as long ones of the same
  // share; of shorter ones, a message and no more, there are too few (one in twenty) to know. Below the last a text is
  // short, what it has in common with others may be a message that somebody got over; below the one before it is let
  // be. With fewer than the first number a text has nothing to be compared by.
  std::size_t fewest_to_compare = 5, fewest_to_name = 20, fewest_to_doubt_short = 30, fewest_to_doubt = 40;
};

}  // namespace vramfit::doctor

#endif
