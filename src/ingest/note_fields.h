// From JSON to the structs of notes: what the readers that tools/generate_contract makes are built of. A field is never
// trusted to be there or to be of its type: what is unread leaves the struct's own start, and is counted.
#ifndef VRAMFIT_INGEST_NOTE_FIELDS_H
#define VRAMFIT_INGEST_NOTE_FIELDS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "model/notes.h"

namespace vramfit::ingest {

// Fields that nobody reads, that are missing and have no default, and values of another type or out of all bounds.
struct UnreadFields {
  std::int64_t count = 0;
  std::vector<std::string> names;  // of the first few

  void add_name(std::string_view name);
};

// False: the value as a whole is of another type. It was counted then, and `into` is as it was.
bool read(const nlohmann::json& from, std::string& into, UnreadFields& unread);
bool read(const nlohmann::json& from, std::int64_t& into, UnreadFields& unread);
bool read(const nlohmann::json& from, std::uint64_t& into, UnreadFields& unread);
bool read(const nlohmann::json& from, bool& into, UnreadFields& unread);
bool read(const nlohmann::json& from, double& into, UnreadFields& unread);  // "nan", "inf", "-inf": no number
bool read(const nlohmann::json& from, base::Bytes& into, UnreadFields& unread);
bool read(const nlohmann::json& from, model::notes::PhaseName& into, UnreadFields& unread);
bool read(const nlohmann::json& from, model::notes::Scalar& into, UnreadFields& unread);

// A text that is one of a few words, of which the first stands for none: any other is a value of another type.
template <class Word, std::size_t count>
bool read_word(const nlohmann::json& from, const std::array<std::string_view, count>& words, Word& into,
               UnreadFields& unread) {
  std::size_t place = from.is_string() ? 1 : count;
  while (place < count && from.get_ref<const std::string&>() != words[place]) ++place;
  if (place == count) return ++unread.count, false;
  into = static_cast<Word>(place);
  return true;
}

template <class T>
bool read(const nlohmann::json& from, std::optional<T>& into, UnreadFields& unread) {
  if (from.is_null()) return true;
  T value{};
  const bool is_read = read(from, value, unread);
  if (is_read) into = std::move(value);
  return is_read;
}

// Entries that cannot be read are left out.
template <class T>
bool read(const nlohmann::json& from, std::vector<T>& into, UnreadFields& unread) {
  if (!from.is_array()) return ++unread.count, false;
  into.reserve(from.size());
  for (const nlohmann::json& entry : from) {
    T value{};
    if (read(entry, value, unread)) into.push_back(std::move(value));
  }
  return true;
}

template <class T>
bool read(const nlohmann::json& from, std::map<std::string, T, std::less<>>& into, UnreadFields& unread) {
  if (!from.is_object()) return ++unread.count, false;
  for (const auto& [name, entry] : from.items()) {
    T value{};
    if (read(entry, value, unread)) into[name] = std::move(value);
  }
  return true;
}

// A JSON object whose fields are taken by name; end() counts those that nobody took.
class ReadObject {
 public:
  ReadObject(const nlohmann::json& from, UnreadFields& unread) : from_(from), unread_(unread) {
    if (!from.is_object()) ++unread.count;
  }

  template <class T>
  void take(const char* name, T& into) {
    const nlohmann::json* found = find(name);
    if (found == nullptr) return;
    const std::int64_t before = unread_.count;
    read(*found, into, unread_);
    if (unread_.count > before) unread_.add_name(name);
  }
  // One that has no default: where it is missing, what is said of the note is the struct's own start.
  template <class T>
  void need(const char* name, T& into) {
    count_missing(name);
    take(name, into);
  }
  void skip(const char* name) { find(name); }
  bool end() const;

 private:
  const nlohmann::json* find(const char* name);
  void count_missing(const char* name);

  const nlohmann::json& from_;
  UnreadFields& unread_;
  std::vector<std::string_view> taken_;
};

// A JSON array of fixed length.
class ReadRow {
 public:
  ReadRow(const nlohmann::json& from, std::size_t places, UnreadFields& unread)
      : from_(from), unread_(unread), fits_(from.is_array() && from.size() == places) {
    if (!fits_) ++unread.count;
  }

  template <class T>
  void take(std::size_t place, T& into) {
    if (fits_) fits_ = read(from_[place], into, unread_);
  }
  bool end() const { return fits_; }

 private:
  const nlohmann::json& from_;
  UnreadFields& unread_;
  bool fits_;
};

// The readers of notes and of what is in them, as docs/notes.md lists them.
bool read(const nlohmann::json& from, model::notes::TensorGroup& into, UnreadFields& unread);
// False: no kind of this name.
bool read_note(std::string_view kind, const nlohmann::json& from, model::Notes& into, UnreadFields& unread);

}  // namespace vramfit::ingest

#endif
