#include "ingest/text/launch_failure.h"

#include <array>
#include <string>
#include <utility>

#include "ingest/text/cursor.h"
#include "ingest/text/line_text.h"
#include "ingest/text/log_prefix.h"

namespace vramfit::ingest {
namespace {

using model::LaunchFailure;

constexpr int kLinesBehind = 4;  // "error_file" and "traceback" stand behind "exitcode"

std::optional<int> small(std::optional<std::int64_t> number) {
  constexpr std::int64_t kMost = 1 << 30;
  return number && *number > -kMost && *number < kMost ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

// "rank      : 0 (local_rank: 0)" -> "0 (local_rank: 0)"
std::string_view field(std::string_view text, std::string_view name) {
  Cursor cursor(trim(text));
  if (!cursor.take(name)) return {};
  cursor.skip_blanks();
  return cursor.take(":") ? trim(cursor.rest()) : std::string_view();
}

void take_field(std::string_view text, LaunchFailure& failure) {
  if (const auto value = field(text, "time"); !value.empty()) failure.time = std::string(value);
  if (const auto value = field(text, "host"); !value.empty()) failure.host = std::string(value);
  if (const auto value = field(text, "rank"); !value.empty()) {
    failure.rank = small(Cursor(value).take_integer());
    failure.local_rank = small(integer_after(value, "local_rank: "));
  }
  if (const auto value = field(text, "exitcode"); !value.empty()) {
    failure.exit_code = small(Cursor(value).take_integer());
    failure.pid = integer_after(value, "pid: ");
    if (failure.exit_code && *failure.exit_code < 0) failure.signal = -*failure.exit_code;
  }
  if (const auto value = field(text, "error_file"); !value.empty() && value != "<N/A>")
    failure.error_file = std::string(value);
  if (const auto value = field(text, "traceback"); !value.empty()) failure.message = std::string(value);
}

// "[0]:" before the fields of one process
bool is_block_start(std::string_view text) {
  Cursor cursor(trim(text));
  return cursor.take("[") && cursor.take_integer() && cursor.take("]:") && cursor.at_end();
}

class LaunchFailureReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    if (open_) {
      take_field(line.text, *open_);
      if (++behind_ >= kLinesBehind || !open_->message.empty()) finish(sink);
      return;
    }
    if (line.text.contains("failed (exitcode: ")) {
      return sink.add(sink.evidence().launch_failures, of_agent(line, sink), "failures of a launch");
    }
    if (field(line.text, "exitcode").empty()) return;
    begin(line, sink);
  }

  bool wants_more() const override { return open_.has_value(); }

  void finish(EvidenceSink& sink) override {
    if (open_) sink.add(sink.evidence().launch_failures, std::move(*open_), "failures of a launch");
    open_.reset();
  }

 private:
  // "failed (exitcode: -9) local_rank: 2 (pid: 36071) of binary: /usr/bin/python"
  static LaunchFailure of_agent(const LogLine& line, EvidenceSink& sink) {
    LaunchFailure failure;
    failure.at = sink.at(line);
    failure.exit_code = small(integer_after(line.text, "(exitcode: "));
    failure.local_rank = small(integer_after(line.text, "local_rank: "));
    failure.pid = integer_after(line.text, "(pid: ");
    if (failure.exit_code && *failure.exit_code < 0) failure.signal = -*failure.exit_code;
    return failure;
  }

  // The fields above the exit code, and the heading above those of the first process.
  void begin(const LogLine& line, EvidenceSink& sink) {
    LaunchFailure failure;
    failure.at = sink.at(line);
    for (Cursor above(line.before); !above.at_end();) {
      const std::string raw = clean_line(above.take_until("\n")).text;
      const std::string_view text = std::string_view(raw).substr(parse_log_prefix(raw).length);
      if (is_block_start(text) || is_block_start(raw)) {
        failure = LaunchFailure{.at = failure.at};
      } else if (text.contains("Root Cause")) {
        root_ = true;
      } else if (text.contains("Failures:")) {
        root_ = false;
      } else {
        take_field(text, failure);
      }
    }
    take_field(line.text, failure);
    failure.root_cause = root_;
    open_ = std::move(failure);
    behind_ = 0;
  }

  std::optional<LaunchFailure> open_;
  int behind_ = 0;
  bool root_ = false;
};

constexpr std::array<std::string_view, 1> kLaunchFailureWords{"exitcode"};

}  // namespace

const TextFormat kLaunchFailureFormat{"launch_failure", kLaunchFailureWords,
                                      [] { return std::unique_ptr<TextReader>(new LaunchFailureReader); }};

}  // namespace vramfit::ingest
