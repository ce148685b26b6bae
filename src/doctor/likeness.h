// What a text is like: published texts whose causes are known vote on it by their words. For what no rule is sure of:
// rules list what people may say, and people say it otherwise. bench/doctor/learn.py makes the table, and says how
// often such a vote is right of texts that it has not seen.
#ifndef VRAMFIT_DOCTOR_LIKENESS_H
#define VRAMFIT_DOCTOR_LIKENESS_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit::doctor {

struct CodeShare {
  std::string_view code;  // "VF401"; "none": no trouble with memory
  double share = 0;
};

struct Likeness {
  double healthy = 0;                            // the share of the vote for "no trouble with memory", 0 to 1
  double share = 0;                              // that of the likeliest cause
  std::string_view code;                         // of that cause: "VF401"
  double confidence = 0;                         // how often a cause with such a share is right; below 0.7
  std::vector<std::string> words;                // that speak for it most, at most four: "in use", "nvidia_smi"
  std::size_t known_words = 0;                   // and pairs of words, that the table has
  std::vector<CodeShare> shares;                 // of all
  double share_of(std::string_view code) const;  // 0: a code that no text had
};

Likeness compare_with_known(std::string_view text);

// In order: words of two letters or more in small letters, "0" for each number, "hex" for an address, and each letter
// of a script that is not Latin by itself. Terminals' colours are none.
std::vector<std::string> words_that_count(std::string_view text);

// The share of the vote from which on a cause is named; the one for "no trouble" above which none is; the one that "all
// well" needs, for a log or a table, and for what is only known as a question or a document. As bench/doctor/learn.py
// --check prints them.
inline constexpr double kShareToName = 0.2, kHealthyToName = 0.35, kHealthyToClear = 0.2, kHealthyToClearGenre = 0.4;
// What rules are no surer of than this gives way to another cause that has this share of the vote for trouble, and so
// many times the share of theirs.
inline constexpr double kUnsure = 0.6, kShareToOutrank = 0.35, kLikelier = 1.5;
// Fewer words than these are like anything: too few to name a cause by, and to doubt by.
inline constexpr std::size_t kFewestToName = 60, kFewestToDoubt = 40;

}  // namespace vramfit::doctor

#endif
