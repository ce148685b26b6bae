#include "ingest/text/traceback.h"

#include <algorithm>
#include <array>
#include <list>
#include <span>
#include <utility>

#include "base/out_of_memory.h"
#include "ingest/text/cursor.h"
#include "ingest/text/line_text.h"
#include "ingest/text/trace_lines.h"

namespace vramfit::ingest {
namespace {

using model::Traceback;
using model::TracedException;
using model::TraceRelation;

constexpr std::size_t kMostFrames = 2000;               // a recursion prints up to 1000
constexpr std::size_t kLongestExceptionMessage = 2000;  // bytes
constexpr std::size_t kLongestCode = 300;               // bytes
constexpr const char* kLostFile = "(traceback cut off)";
constexpr int kMostMessageLines = 8;
constexpr int kMostIdleLines = 40;    // lines that say nothing before an open traceback is given up
constexpr int kMostLinesBehind = 12;  // lines behind the exception in which a further one may be announced

// One traceback that is being printed.
struct Open {
  Traceback traceback;
  std::string stream;
  std::string prefix;  // what stood before the header and may stand before each line
  enum class State { kFrames, kMessage, kAfter, kAnnounced } state = State::kFrames;
  TraceRelation announced = TraceRelation::kFirst;
  bool innermost_first = false;
  bool wants_code = false;   // the line behind a frame
  bool plain_frame = false;  // the last frame was one of the plain style
  std::string half_path;     // of a frame that goes on on the next line
  int idle = 0;
  int message_lines = 0;

  TracedException& current() { return traceback.exceptions.back(); }
};

class TracebackReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override;
  bool wants_more() const override { return !open_.empty(); }
  void finish(EvidenceSink& sink) override;

 private:
  static constexpr std::size_t kMostOpen = 256;

  Open& start(const LogLine& line, const TraceHeaderLine& header, EvidenceSink& sink);
  void take_header(const LogLine& line, const TraceHeaderLine& header, EvidenceSink& sink);
  void take_frame(Open& open, model::TraceFrame frame, const LogLine& line);
  bool take_exception(Open& open, std::string_view text, const LogLine& line);
  bool take_code(Open& open, std::string_view text);
  void take_other(Open& open, std::string_view text, const LogLine& line);
  void start_at_end(const LogLine& line, EvidenceSink& sink);
  bool start_at_arrow(const LogLine& line, EvidenceSink& sink);
  bool passes_over(const LogLine& line, const EvidenceSink& sink);
  void close(Open& open, EvidenceSink& sink);
  void close_done(EvidenceSink& sink);
  // Good until it is asked again.
  std::span<Open* const> of_stream(std::string_view stream);
  Open* owner_of_frame(std::string_view stream, const model::TraceFrame& frame);

  std::list<Open> open_;
  std::vector<Open*> found_;  // of_stream
  PhaseMarks marks_;
};

void begin_exception(Open& open, TraceRelation relation, const LogLine& line, std::string type) {
  open.traceback.exceptions.push_back({.relation = relation, .first_line = line.number, .last_line = line.number});
  open.current().type = std::move(type);
  open.state = Open::State::kFrames;
  open.wants_code = false;
  open.idle = open.message_lines = 0;
}

// The text of a line without the prefix that the traceback's first line had.
std::string_view without_prefix(const Open& open, std::string_view text) {
  if (!open.prefix.empty() && text.starts_with(open.prefix)) text.remove_prefix(open.prefix.size());
  return text;
}

std::string line_before(const LogLine& line) {
  std::string_view before = line.before;
  return take_line_above(before);
}

std::span<Open* const> TracebackReader::of_stream(std::string_view stream) {
  found_.clear();
  for (Open& open : open_) {
    if (open.stream == stream) found_.push_back(&open);
  }
  return found_;
}

// Several ranks that print the same traceback without a prefix: lines come in the order of each. A frame that the
// first one has already, at the place where another one stands, is that other one's.
//
//   Traceback   A          A: [f1 f2]    line f1 -> B has none, A's first is f1: B
//   Traceback   B          B: []
//   f1 f2       A
//   f1 ...      B
Open* TracebackReader::owner_of_frame(std::string_view stream, const model::TraceFrame& frame) {
  static_cast<void>(of_stream(stream));
  std::vector<Open*>& candidates = found_;
  std::erase_if(candidates, [](const Open* open) { return open->state != Open::State::kFrames; });
  if (candidates.empty()) return nullptr;
  if (candidates.size() == 1) return candidates.front();
  const auto& leader = candidates.front()->current().frames;
  for (std::size_t i = candidates.size(); i-- > 1;) {
    const auto& own = candidates[i]->current().frames;
    if (own.size() >= leader.size()) continue;
    const model::TraceFrame& expected = leader[own.size()];
    if (expected.file == frame.file && expected.line == frame.line && expected.function == frame.function)
      return candidates[i];
  }
  return candidates.front();
}

Open& TracebackReader::start(const LogLine& line, const TraceHeaderLine& header, EvidenceSink& sink) {
  if (open_.size() >= kMostOpen) {
    close(open_.front(), sink);
    open_.pop_front();
  }
  Open open;
  open.traceback.at = sink.at(line);
  open.traceback.speaker = line.speaker;
  open.stream = line.stream;
  open.prefix = std::string(line.text.substr(0, header.column));
  open.innermost_first = header.kind == TraceHeader::kInnermostFirst;
  read_trace_preamble(line_before(line), open.traceback.speaker);
  begin_exception(open, TraceRelation::kFirst, line, header.type);
  open_.push_back(std::move(open));
  return open_.back();
}

// A header goes on a chain that announced one, or on a message that carries a worker's; otherwise it begins anew.
void TracebackReader::take_header(const LogLine& line, const TraceHeaderLine& header, EvidenceSink& sink) {
  for (Open* open : of_stream(line.stream)) {
    if (open->state == Open::State::kAnnounced) {
      begin_exception(*open, open->announced, line, header.type);
      return;
    }
    const bool has_message = open->state == Open::State::kMessage || open->state == Open::State::kAfter;
    if (header.kind == TraceHeader::kOriginal && has_message) {
      begin_exception(*open, TraceRelation::kOriginal, line, header.type);
      return;
    }
  }
  for (auto open = open_.begin(); open != open_.end();) {
    const bool done = open->stream == line.stream && open->state != Open::State::kFrames;
    if (done) close(*open, sink);
    open = done ? open_.erase(open) : std::next(open);
  }
  start(line, header, sink);
}

void TracebackReader::take_frame(Open& open, model::TraceFrame frame, const LogLine& line) {
  TracedException& exception = open.current();
  exception.last_line = line.number;
  open.wants_code = true;
  open.plain_frame = line.text.contains("File \"");
  open.idle = 0;
  if (exception.frames.size() < kMostFrames) exception.frames.push_back(std::move(frame));
}

bool TracebackReader::take_exception(Open& open, std::string_view text, const LogLine& line) {
  auto found = parse_trace_exception(text);
  if (!found) return false;
  TracedException& exception = open.current();
  if (exception.frames.empty() && exception.type.empty() && open.idle > 0) return false;
  exception.type = std::move(found->type);
  exception.message = cut_text(found->message, kLongestExceptionMessage);
  exception.last_line = line.number;
  read_trace_origin(exception.message, exception, open.traceback.speaker);
  open.state = Open::State::kMessage;
  open.idle = 0;
  return true;
}

// A line that is neither header nor frame.
void TracebackReader::take_other(Open& open, std::string_view text, const LogLine& line) {
  ++open.idle;
  if (open.state == Open::State::kFrames) {
    if (!take_code(open, text)) take_exception(open, text, line);
    return;
  }
  if (open.state != Open::State::kMessage) return;
  const bool has_prefix = line.text.size() < line.whole.size() && line.stream.empty();
  if (trim(text).empty() || has_prefix || ++open.message_lines > kMostMessageLines) {
    open.state = Open::State::kAfter;
    return;
  }
  std::string& message = open.current().message;
  if (message.size() < kLongestExceptionMessage)
    message = cut_text(message + "\n" + std::string(trim(text)), kLongestExceptionMessage);
  open.current().last_line = line.number;
}

// The line of code below a frame. In a plain traceback it is the next one; in the others an arrow tells it from those
// around it.
bool TracebackReader::take_code(Open& open, std::string_view text) {
  auto& frames = open.current().frames;
  if (!open.wants_code || frames.empty()) return false;
  auto code = parse_trace_code(text);
  // The numbered lines of a listing: the one with the arrow is meant.
  const bool listed = !open.plain_frame && code && is_digit(trim(text).front());
  if (!code || listed ||
      (!open.plain_frame && (text.starts_with("    ") && !text.contains("-> ") && !text.contains("❱"))))
    return false;
  model::TraceFrame& frame = frames.back();
  // IPython up to 7 tells the line here only.
  if (frame.line == 0)
    frame.line = static_cast<int>(std::clamp<std::int64_t>(integer_after(text, "> ").value_or(0), 0, 1 << 24));
  if (frame.code.empty()) frame.code = cut_text(*code, kLongestCode);
  open.wants_code = false;
  open.idle = 0;
  return true;
}

// Where only the last line of code and the message of a traceback are left, that code is the innermost frame's.
void TracebackReader::start_at_end(const LogLine& line, EvidenceSink& sink) {
  const auto exception = parse_trace_exception(line.text);
  if (!exception || !base::says_out_of_memory(exception->message)) return;
  const std::string code = line_before(line);
  if (!is_loose_code(code)) return;
  Open& open = start(line, {.kind = TraceHeader::kPlain, .column = 0, .type = {}}, sink);
  open.traceback.truncated = true;
  take_frame(open, {.file = kLostFile, .line = 0, .function = {}, .code = cut_text(trim(code), kLongestCode)}, line);
  open.wants_code = false;
}

// A traceback of rich's whose top was not kept: its frame stands a few lines above the arrow.
//
//   │ /home/me/train.py:290 in step                │
//   │   288 │   if ready:                          │
//   │ ❱ 290 │   │   optimizer.step()               │
bool TracebackReader::start_at_arrow(const LogLine& line, EvidenceSink& sink) {
  constexpr int kLinesAbove = 8;
  if (!line.text.contains("❱")) return false;
  std::string_view before = line.before;
  std::string below;
  for (int i = 0; i < kLinesAbove && !before.empty(); ++i) {
    const std::string above = take_line_above(before);
    const std::string_view inside = without_box(above);
    auto frame = parse_trace_frame(above);
    if (!frame && inside.starts_with('/') && inside.ends_with(" in"))
      frame = parse_trace_frame(std::string(inside) + " " + std::string(without_box(below)));
    below = above;
    if (frame && !above.contains("❱")) {
      Open& open = start(line, {.kind = TraceHeader::kPlain, .column = 0, .type = {}}, sink);
      open.traceback.truncated = true;
      take_frame(open, std::move(*frame), line);
      return take_code(open, line.text);
    }
  }
  return false;
}

// A frame that is clear enough to begin with, where the header is lost.
bool begins_traceback(const LogLine& line) {
  return line.text.contains("File \"") || trim(line.text).starts_with("File ");
}

// A frame of a traceback that will not be kept, as there are too many already, is only told from other lines. Where
// several print at once its names say whose it is.
bool TracebackReader::passes_over(const LogLine& line, const EvidenceSink& sink) {
  if (sink.evidence().tracebacks.size() < sink.limits().most_entries || open_.size() != 1) return false;
  Open& open = open_.front();
  if (open.state != Open::State::kFrames || open.stream != line.stream || open.current().frames.empty()) return false;
  if (open.wants_code && open.plain_frame && line.text.starts_with("    ")) {
    open.wants_code = false;
  } else if (!line.text.starts_with("  File \"")) {
    return false;
  } else {
    open.wants_code = open.plain_frame = true;
  }
  open.current().last_line = line.number;
  open.idle = 0;
  return true;
}

void TracebackReader::read(const LogLine& line, EvidenceSink& sink) {
  if (passes_over(line, sink)) return;
  if (const TraceHeaderLine header = parse_trace_header(line.text); header.kind != TraceHeader::kNone) {
    take_header(line, header, sink);
    return close_done(sink);
  }
  if (const auto relation = parse_trace_relation(line.text)) {
    for (Open* open : of_stream(line.stream)) {
      if (open->state == Open::State::kFrames) continue;
      open->state = Open::State::kAnnounced;
      open->announced = *relation;
      open->idle = 0;
      break;
    }
    return close_done(sink);
  }
  auto frame = parse_trace_frame(line.text);
  for (Open* open : of_stream(line.stream)) {
    const std::string half = std::exchange(open->half_path, {});
    const std::string_view inside = without_box(line.text);
    // rich breaks a long path at the side of its box.
    if (!half.empty()) {
      const bool after_in = half.ends_with(" in");
      if (auto joined = parse_trace_frame(half + (after_in ? " " : "") + std::string(inside)))
        frame = std::move(joined);
    }
    if (!frame && inside.starts_with('/') && inside.size() < trim(line.text).size())
      open->half_path = std::string(inside);
  }
  if (frame) {
    Open* open = owner_of_frame(line.stream, *frame);
    if (open == nullptr && begins_traceback(line) && of_stream(line.stream).empty()) {
      open = &start(line, {.kind = TraceHeader::kPlain, .column = 0, .type = {}}, sink);
      open->traceback.truncated = true;
    }
    if (open != nullptr) {
      take_frame(*open, *frame, line);
      return close_done(sink);
    }
  }
  if (of_stream(line.stream).empty() && !start_at_arrow(line, sink)) start_at_end(line, sink);
  // The first of several in one stream that waits for an exception takes it: they print in the same order.
  bool taken = false;
  for (Open* open : of_stream(line.stream)) {
    const std::string_view text = without_prefix(*open, line.text);
    if (open->state == Open::State::kFrames && parse_trace_exception(text)) {
      if (!std::exchange(taken, true)) take_exception(*open, text, line);
    } else {
      take_other(*open, text, line);
    }
  }
  close_done(sink);
}

void TracebackReader::close(Open& open, EvidenceSink& sink) {
  auto& exceptions = open.traceback.exceptions;
  if (open.innermost_first) std::reverse(exceptions.back().frames.begin(), exceptions.back().frames.end());
  if (exceptions.back().frames.empty() && exceptions.back().message.empty() && exceptions.size() > 1) {
    exceptions.pop_back();
    open.traceback.truncated = true;
  }
  if (exceptions.back().type.empty()) open.traceback.truncated = !open.innermost_first;
  const bool empty = exceptions.size() == 1 && exceptions[0].frames.empty() && exceptions[0].message.empty();
  if (empty) return sink.count_unread("tracebacks without frames");
  // One that is not kept need not be looked through.
  if (sink.evidence().tracebacks.size() < sink.limits().most_entries)
    open.traceback.marks = marks_.find(open.traceback);
  sink.add(sink.evidence().tracebacks, std::move(open.traceback), "tracebacks");
}

void TracebackReader::close_done(EvidenceSink& sink) {
  for (auto open = open_.begin(); open != open_.end();) {
    const bool over = open->state == Open::State::kFrames || open->state == Open::State::kAnnounced
                          ? open->idle > kMostIdleLines
                          : open->idle > kMostLinesBehind;
    if (over) close(*open, sink);
    open = over ? open_.erase(open) : std::next(open);
  }
}

void TracebackReader::finish(EvidenceSink& sink) {
  for (Open& open : open_) close(open, sink);
  open_.clear();
}

constexpr std::array<std::string_view, 11> kTracebackWords{"traceback (most recent",
                                                           "traceback (innermost",
                                                           "file \"",
                                                           "file /",
                                                           "file ~",
                                                           "file c:",
                                                           "│ ❱ ",
                                                           "during handling of the above",
                                                           "(most recent call first)",
                                                           "error: cuda out of memory",
                                                           "error: hip out of memory"};

}  // namespace

const TextFormat kTracebackFormat{"traceback", kTracebackWords,
                                  [] { return std::unique_ptr<TextReader>(new TracebackReader); }};

}  // namespace vramfit::ingest
