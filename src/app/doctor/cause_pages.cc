#include "app/doctor/cause_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <string_view>

#include "base/nearest_word.h"
#include "base/parse_number.h"
#include "doctor/cause.h"
#include "job/installation.h"

namespace vramfit::app {

using base::ErrorCode;
using base::Result;

namespace {

constexpr const char* kListsAll = "vramfit explain lists them all";
std::string no_cause(const std::string& name) { return fmt::format("there is no cause \"{}\"", name); }
std::string did_you_mean(const std::string& word) { return fmt::format("did you mean {}? {}", word, kListsAll); }

}  // namespace

std::vector<model::CausePage> cause_pages() {
  std::vector<model::CausePage> pages;
  for (const doctor::Cause* cause : doctor::all_causes()) pages.push_back(doctor::page_of(*cause));
  return pages;
}

Result<model::CausePage> find_cause_page(const std::string& name) {
  if (const doctor::Cause* cause = doctor::find_cause(name)) return doctor::page_of(*cause);
  std::string zeros = name;  // "VF2O1": codes have no O
  std::ranges::replace(zeros, 'O', '0');
  std::vector<std::string> known;
  for (const doctor::Cause* cause : doctor::all_causes()) {
    if (zeros == cause->code) return base::fail(ErrorCode::kNotFound, no_cause(name), "", did_you_mean(zeros));
    known.emplace_back(cause->label);
    known.emplace_back(cause->code);
  }
  auto nearest = base::nearest_word(name, known);
  // A code is a number: where no letters are near, the nearest number is.
  const auto number = zeros.starts_with("VF") ? base::parse_number<int>(zeros.substr(2)) : std::nullopt;
  if (!nearest && number) {
    int least = std::numeric_limits<int>::max();
    for (const doctor::Cause* cause : doctor::all_causes()) {
      const auto its = base::parse_number<int>(std::string_view(cause->code).substr(2));
      if (!its || std::abs(*its - *number) >= least) continue;
      least = std::abs(*its - *number);
      nearest = std::string(cause->code);
    }
  }
  return base::fail(ErrorCode::kNotFound, no_cause(name), "", nearest ? did_you_mean(*nearest) : kListsAll);
}

std::string example_of(const model::CausePage& page) {
  const auto installation = job::find_installation();
  if (!installation) return "";
  // What cannot be made to happen on a virtual card is shown by a text that it leaves.
  for (const char* ending : {".py", ".txt"}) {
    std::ifstream file(installation->root / "share" / "vramfit" / "causes" / (page.label + ending), std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(file), {});
    if (!text.empty()) return text;
  }
  return "";
}

}  // namespace vramfit::app
