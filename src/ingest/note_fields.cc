#include "ingest/note_fields.h"

#include <algorithm>
#include <limits>

#include "model/number_names.h"

namespace vramfit::ingest {

using model::Notes;
using nlohmann::json;
namespace notes = model::notes;

namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;  // no card, and no sum over cards, comes near it

constexpr std::size_t kMostNames = 5;

bool is_whole(const json& from) {
  if (from.is_number_unsigned()) return from.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max();
  return from.is_number_integer();
}

}  // namespace

void UnreadFields::add_name(std::string_view name) {
  const bool is_new = std::ranges::find(names, name) == names.end();
  if (is_new && names.size() < kMostNames) names.emplace_back(name);
}

bool read(const json& from, std::string& into, UnreadFields& unread) {
  if (!from.is_string()) return ++unread.count, false;
  into = from.get_ref<const std::string&>();
  return true;
}

bool read(const json& from, std::int64_t& into, UnreadFields& unread) {
  if (!is_whole(from)) return ++unread.count, false;
  into = from.get<std::int64_t>();
  return true;
}

bool read(const json& from, std::uint64_t& into, UnreadFields& unread) {
  if (!from.is_number_unsigned() && !(is_whole(from) && from.get<std::int64_t>() >= 0)) return ++unread.count, false;
  into = from.get<std::uint64_t>();
  return true;
}

bool read(const json& from, bool& into, UnreadFields& unread) {
  if (!from.is_boolean()) return ++unread.count, false;
  into = from.get<bool>();
  return true;
}

bool read(const json& from, double& into, UnreadFields& unread) {
  const bool is_no_number = from == "nan" || from == "inf" || from == "-inf";
  if (!from.is_number() && !is_no_number) return ++unread.count, false;
  into = is_no_number ? std::numeric_limits<double>::quiet_NaN() : from.get<double>();
  return true;
}

bool read(const json& from, base::Bytes& into, UnreadFields& unread) {
  std::int64_t bytes = -1;
  if (is_whole(from)) bytes = from.get<std::int64_t>();
  if (bytes < 0 || bytes > kMostBytes) return ++unread.count, false;
  into = base::Bytes(bytes);
  return true;
}

bool read(const json& from, notes::PhaseName& into, UnreadFields& unread) {
  const auto* name = from.get_ptr<const std::string*>();
  if (name == nullptr || std::ranges::find(model::kPhaseNames, *name) == model::kPhaseNames.end())
    return ++unread.count, false;
  into.assign(*name);
  return true;
}

bool read(const json& from, notes::Scalar& into, UnreadFields&) {
  if (from.is_boolean()) into = from.get<bool>();
  if (from.is_number()) into = from.get<double>();
  if (from.is_string()) into = from.get<std::string>();
  return true;
}

const json* ReadObject::find(const char* name) {
  if (!from_.is_object()) return nullptr;
  const auto found = from_.find(name);
  if (found == from_.end()) return nullptr;
  taken_.emplace_back(name);
  return &*found;
}

void ReadObject::count_missing(const char* name) {
  if (!from_.is_object() || from_.contains(name)) return;
  ++unread_.count;
  unread_.add_name(name);
}

bool ReadObject::end() const {
  if (!from_.is_object()) return false;
  if (from_.size() == taken_.size()) return true;
  for (const auto& [name, value] : from_.items()) {
    if (std::ranges::find(taken_, name) != taken_.end()) continue;
    ++unread_.count;
    unread_.add_name(name);
  }
  return true;
}

#include "ingest/note_readers.inc"

bool read_note(std::string_view kind, const json& from, Notes& into, UnreadFields& unread) {
  const auto reader = kReaders.find(kind);
  if (reader == kReaders.end()) return false;
  reader->second(from, into, unread);
  return true;
}

}  // namespace vramfit::ingest
