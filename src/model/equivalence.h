// Whether a job trains the same with a plan as without it: what a comparison of its first optimizer steps found.
#ifndef VRAMFIT_MODEL_EQUIVALENCE_H
#define VRAMFIT_MODEL_EQUIVALENCE_H

#include <string>
#include <string_view>
#include <vector>

namespace vramfit::model {

// The nearest first. The first four are as promised; kOther and kNotANumber are a failed plan.
enum class Sameness {
  kEqual,       // to the bit
  kRounding,    // other orders of sums
  kPrecision,   // fewer bits
  kStatistics,  // batch statistics over fewer samples; all else is the same
  kOther,       // it trains something else
  kNotANumber,  // it trains to infinities
  kNotChecked   // nobody knows
};
std::string_view to_string(Sameness sameness);  // "equal", ..., "not_a_number", "not_checked"

struct Equivalence {
  Sameness sameness = Sameness::kNotChecked;
  bool checked = false;                  // by running the job with the plan and without it
  std::string text;                      // a sentence: "trains the same: 4 steps compared, ..."
  int steps = 0;                         // of an optimizer that were compared
  std::vector<std::string> differences;  // what differs by more than was promised, what explains the others first
  std::vector<std::string> effects;      // what the technique itself says that it changes
  double gradient_distance = 0;          // of the first step, as a share of the gradients without the plan
  double update_distance = 0;            // of the weights over all steps, as a share of their update
  bool operator==(const Equivalence&) const = default;
};

// Whether it was found to train something else than it should.
inline bool is_failed(const Equivalence& equivalence) {
  return equivalence.sameness == Sameness::kOther || equivalence.sameness == Sameness::kNotANumber;
}

// What `vramfit verify` found.
struct VerifyResult {
  std::string plan;  // its name
  std::string card;
  Equivalence equivalence;
  bool refused = false;               // the plan does not apply to the job
  std::vector<std::string> untested;  // of the runs: RunResult has it
  int runs = 0;
  double seconds = 0;
};

}  // namespace vramfit::model

#endif
