#include "report/runtime_evidence_json.h"

#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "model/evidence_members.h"
#include "report/json_parts.h"

namespace vramfit::report {

using nlohmann::ordered_json;

namespace {

ordered_json plain(base::Bytes bytes) { return bytes.count(); }

template <class T>
ordered_json plain(const T& value) {
  return value;
}

template <class T>
ordered_json plain(const std::optional<T>& value) {
  return value ? plain(*value) : ordered_json(nullptr);
}

template <class T>
ordered_json plain(const std::vector<T>& values) {
  return list_json(values, [](const T& value) { return plain(value); });
}

// For model::members.
class MemberWriter {
 public:
  void value(const char* key, const auto& value) { object_[key] = plain(value); }
  void or_null(const char* key, const std::string& text) { object_[key] = report::or_null(text); }
  void not_below(const char* key, auto number) { object_[key] = number < 0 ? ordered_json(nullptr) : plain(number); }
  void word(const char* key, auto word, const auto& words) { object_[key] = words[static_cast<std::size_t>(word)]; }
  void word_or_null(const char* key, auto word, const auto& words) {
    or_null(key, std::string(words[static_cast<std::size_t>(word)]));
  }
  void one(const char* key, const auto& of) { object_[key] = written(of); }
  template <class T>
  void maybe(const char* key, const std::optional<T>& of) {
    object_[key] = of ? written(*of) : ordered_json(nullptr);
  }
  template <class T>
  void rows(const char* key, const std::vector<T>& rows) {
    object_[key] = list_json(rows, [](const T& row) { return written(row); });
  }

  static ordered_json written(const auto& of) {
    MemberWriter writer;
    model::members(writer, of);
    return std::move(writer.object_);
  }

 private:
  ordered_json object_ = ordered_json::object();
};

}  // namespace

ordered_json evidence_to_json(const model::RuntimeEvidence& evidence) { return MemberWriter::written(evidence); }

}  // namespace vramfit::report
