#include "ingest/text/other_error.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "ingest/text/cursor.h"
#include "ingest/text/line_text.h"

namespace vramfit::ingest {
namespace {

// "exits with return code = -11", "exited with code 1": a status that is not 0.
bool tells_bad_exit(std::string_view text) {
  for (const std::string_view word : {"return code", "returncode", "exit code", "exitcode", "exit status",
                                      "exited with code", "exited with status"}) {
    const std::size_t at = find_ignoring_case(text, word);
    if (at == kNowhere) continue;
    Cursor cursor(text.substr(at + word.size()));
    cursor.take_while([](char letter) { return is_blank(letter) || letter == ':' || letter == '='; });
    if (const auto status = cursor.take_integer()) return *status != 0;
  }
  return false;
}

// The first and the last are enough to say what a text is about.
class OtherErrorReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    auto& errors = sink.evidence().other_errors;
    if (!names_error(line.text)) {
      // A launcher's word for the end says less than the error itself, wherever that stands.
      if (errors.empty() && tells_bad_exit(line.text)) errors.push_back(sink.at(line));
      return;
    }
    if (errors.size() > 1 && errors.back().file == errors.front().file) errors.pop_back();
    errors.push_back(sink.at(line));
  }
};

constexpr auto kErrorWords =
    std::to_array<std::string_view>({"error", "exception", "assertion", "segmentation fault", "core dumped",
                                     "traceback", "fatal", "failed", "not found", "fallen off the bus", "return code",
                                     "returncode", "exit code", "exitcode", "exit status", "exited with"});

}  // namespace

bool tells_error_of_program(std::string_view text) {
  const std::size_t colon = text.find(": ");
  if (colon == kNowhere || colon == 0) return false;
  const bool is_program =
      std::ranges::all_of(text.substr(0, colon), [](char letter) { return is_word(letter) || letter == '-'; });
  const std::string_view rest = text.substr(colon + 2);
  return is_program && rest.starts_with("Error ") && rest.contains(": ");
}

bool names_error(std::string_view text) {
  if (text.starts_with("FAILED ") && text.contains(".py::")) return true;  // of pytest's summary
  if (contains_ignoring_case(text, "warning")) return false;
  for (const std::string_view said :
       {"segmentation fault", "core dumped", "fatal", "assertion", "command not found", "fallen off the bus"}) {
    if (contains_ignoring_case(text, said)) return true;
  }
  if (tells_error_of_program(text)) return true;
  // "ValueError: ...", "error: ...", "cv2.error: ...", "[ERROR]", and a name alone: "AssertionError"
  for (const std::string_view kind : {"error", "exception", "keyboardinterrupt", "systemexit"}) {
    for (std::size_t at = find_ignoring_case(text, kind); at != kNowhere; at = find_ignoring_case(text, kind, at + 1)) {
      const std::string_view behind = text.substr(at + kind.size());
      // "Here is the error:" announces one.
      const bool is_word_alone = at > 0 && is_blank(text[at - 1]);
      if (is_word_alone && behind.starts_with(':') && trim(behind.substr(1)).empty()) continue;
      // "class_error: 50.1  loss: 1.8": a figure of that name.
      const std::string_view value = trim(behind.starts_with(':') ? behind.substr(1) : std::string_view());
      const bool is_metric = at > 0 && text[at - 1] == '_' && !value.empty() &&
                             (is_digit(value[0]) || value.starts_with("nan") || value.starts_with('-'));
      if (is_metric) continue;
      if (behind.starts_with(':') || behind.starts_with(']') || same_ignoring_case(behind.substr(0, 5), " code") ||
          trim(behind).empty())
        return true;
    }
  }
  return false;
}

const TextFormat kOtherErrorFormat{"other_error", kErrorWords,
                                   [] { return std::unique_ptr<TextReader>(new OtherErrorReader); }};

}  // namespace vramfit::ingest
