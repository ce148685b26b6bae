// A finding while a cause writes it.
#ifndef VRAMFIT_DOCTOR_DRAFT_H
#define VRAMFIT_DOCTOR_DRAFT_H

#include <optional>
#include <string>
#include <utility>

#include "doctor/stack.h"
#include "model/finding.h"

namespace vramfit::doctor {

// Confidence below this is no finding.
inline constexpr double kLeastConfidence = 0.15;

class Draft {
 public:
  // The confidence becomes at least this.
  Draft& weigh(double confidence);
  // More, or with a negative number less, of what was weighed; stays below 0.98.
  Draft& adjust(double difference);
  // Bounds the weight, whatever was weighed before.
  Draft& bound(double most);
  Draft& severity(model::Severity severity);
  Draft& title(std::string title);
  Draft& because(const model::SourceLine& at, std::string reasoning);
  Draft& because(const StackEntry& entry, std::string reasoning);
  Draft& because(std::string reasoning);  // of no single place: a run, a snapshot
  Draft& confirm(std::string what);
  Draft& fix(model::Fix fix);
  Draft& withhold(std::string what, std::string why);

  double confidence() const { return finding_.confidence; }
  bool has_fixes() const { return !finding_.fixes.empty(); }
  bool is_empty() const { return finding_.confidence < kLeastConfidence; }
  model::Finding take() { return std::move(finding_); }

 private:
  model::Finding finding_;
};

}  // namespace vramfit::doctor

#endif
