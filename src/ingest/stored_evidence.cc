#include "ingest/stored_evidence.h"

#include <algorithm>
#include <concepts>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ingest/stored_fields.h"
#include "model/evidence_members.h"

namespace vramfit::ingest {
namespace {

using nlohmann::json;

void take(const json& from, bool& into) { into = from.get<bool>(); }
void take(const json& from, std::string& into) { into = from.get<std::string>(); }
void take(const json& from, base::Bytes& into) { into = base::Bytes(whole<std::int64_t>(from)); }

template <std::integral T>
void take(const json& from, T& into) {
  into = whole<T>(from);
}

template <class T>
void take(const json& from, std::optional<T>& into) {
  take(from, into.emplace());
}

template <class T>
void take(const json& from, std::vector<T>& into) {
  if (!from.is_array()) throw json::other_error::create(600, "a list that is none", &from);
  for (const json& one : from) take(one, into.emplace_back());
}

// For model::members. What is not there, or null, stays as it is in an object that nobody filled.
class MemberReader {
 public:
  explicit MemberReader(const json& object) : object_(object) {
    if (!object.is_object()) throw json::other_error::create(600, "a row that is no object", &object);
  }

  void value(const char* key, auto& into) {
    if (const json* found = find(key)) take(*found, into);
  }
  void or_null(const char* key, std::string& into) { value(key, into); }
  void not_below(const char* key, auto& into) { value(key, into); }
  // A word that a later version knows is none here.
  template <class Enum>
  void word(const char* key, Enum& into, const auto& words) {
    std::string word;
    value(key, word);
    const auto at = std::ranges::find(words, word);
    if (at != words.end()) into = static_cast<Enum>(at - words.begin());
  }
  void word_or_null(const char* key, auto& into, const auto& words) { word(key, into, words); }
  void one(const char* key, auto& into) {
    if (const json* found = find(key)) read(*found, into);
  }
  template <class T>
  void maybe(const char* key, std::optional<T>& into) {
    if (const json* found = find(key)) read(*found, into.emplace());
  }
  template <class T>
  void rows(const char* key, std::vector<T>& into) {
    const json* found = find(key);
    if (found == nullptr) return;
    for (const json& row : *found) read(row, into.emplace_back());
  }

  static void read(const json& from, auto& into) {
    MemberReader reader(from);
    model::members(reader, into);
  }

 private:
  const json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  const json& object_;
};

}  // namespace

model::RuntimeEvidence read_run_evidence(const json& result) {
  model::RuntimeEvidence evidence;
  if (const auto found = result.find("evidence"); found != result.end()) MemberReader::read(*found, evidence);
  return evidence;
}

}  // namespace vramfit::ingest
