#include "doctor/draft.h"

#include <algorithm>

namespace vramfit::doctor {

namespace {
constexpr double kMostConfidence = 0.98;
}

Draft& Draft::weigh(double confidence) {
  finding_.confidence = std::min(std::max(finding_.confidence, confidence), kMostConfidence);
  return *this;
}

Draft& Draft::adjust(double difference) {
  if (finding_.confidence > 0) finding_.confidence = std::clamp(finding_.confidence + difference, 0.0, kMostConfidence);
  return *this;
}

Draft& Draft::bound(double most) {
  finding_.confidence = std::min(finding_.confidence, most);
  return *this;
}

Draft& Draft::severity(model::Severity severity) {
  finding_.severity = severity;
  return *this;
}

Draft& Draft::title(std::string title) {
  finding_.title = std::move(title);
  return *this;
}

Draft& Draft::because(const model::SourceLine& at, std::string reasoning) {
  finding_.evidence.push_back({at.file, at.line, at.text, std::move(reasoning)});
  return *this;
}

Draft& Draft::because(const StackEntry& entry, std::string reasoning) {
  finding_.evidence.push_back({entry.at.file, entry.at.line, describe(entry.frame), std::move(reasoning)});
  return *this;
}

Draft& Draft::because(std::string reasoning) {
  finding_.evidence.push_back({"", 0, "", std::move(reasoning)});
  return *this;
}

Draft& Draft::confirm(std::string what) {
  finding_.would_confirm.push_back(std::move(what));
  return *this;
}

Draft& Draft::fix(model::Fix fix) {
  finding_.fixes.push_back(std::move(fix));
  return *this;
}

Draft& Draft::withhold(std::string what, std::string why) {
  finding_.withheld.push_back({std::move(what), std::move(why)});
  return *this;
}

}  // namespace vramfit::doctor
