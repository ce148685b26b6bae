#include "ingest/text/trace_lines.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ingest/text/cursor.h"

namespace vramfit::ingest {
namespace {

using model::TraceFrame;

constexpr int kMostLines = 10'000'000;  // a greater line number is none

bool is_name(char letter) { return is_word(letter) || letter == '.'; }

std::optional<int> line_number(std::optional<std::int64_t> number) {
  return number && *number >= 0 && *number < kMostLines ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

// "main", "Module.forward(self, x)", "<module>": without its arguments.
std::string function_name(std::string_view text) {
  text = trim(text);
  if (const std::size_t open = text.find('('); open != kNowhere && open > 0) text = text.substr(0, open);
  return std::string(trim(text));
}

//   File "train.py", line 3, in main
std::optional<TraceFrame> plain_frame(std::string_view text) {
  Cursor cursor(text);
  if (!cursor.pass("File \"")) return std::nullopt;
  TraceFrame frame;
  frame.file = std::string(cursor.take_until("\""));
  if (frame.file.empty() || !cursor.take(", line ")) return std::nullopt;
  const auto line = line_number(cursor.take_integer());
  if (!line) return std::nullopt;
  frame.line = *line;
  cursor.take(",");
  if (cursor.take_word("in "))
    frame.function = function_name(cursor.rest().starts_with('<') ? cursor.take_until(">") : cursor.rest());
  if (frame.function.starts_with('<')) frame.function += '>';
  return frame;
}

bool is_path(std::string_view text) {
  if (text.size() < 3 || text.find_first_of("\"'={}|*") != kNowhere) return false;
  const bool rooted = text.starts_with('/') || text.starts_with("~/") || text.starts_with("./") ||
                      text.starts_with("<") ||
                      (is_letter(text[0]) && text[1] == ':' && (text[2] == '\\' || text[2] == '/'));
  return rooted || text.ends_with(".py") || text.ends_with(".pyx") || text.ends_with(".ipynb");
}

// "Cell In[5], line 3, in train(model)", "Input In [5], in <cell line: 3>()", "In[5]:3"
std::optional<TraceFrame> cell_frame(std::string_view text) {
  Cursor cursor(text);
  if (!cursor.take("Cell ") && !cursor.take("Input ")) return std::nullopt;
  if (!cursor.take("In[") && !cursor.take("In [")) return std::nullopt;
  TraceFrame frame{.file = "In[" + std::string(cursor.take_until("]")) + "]", .line = 0, .function = {}, .code = {}};
  if (cursor.take(", line ")) frame.line = line_number(cursor.take_integer()).value_or(0);
  if (cursor.take(", in ")) frame.function = function_name(cursor.rest());
  if (const auto line = integer_after(frame.function, "<cell line: "); line && frame.line == 0) {
    frame.line = line_number(line).value_or(0);
  }
  return frame;
}

// "File ~/lib/module.py:1511, in Module.forward(self)", "/home/me/train.py:12 in main"
std::optional<TraceFrame> colon_frame(std::string_view text) {
  Cursor cursor(text);
  cursor.take("File ");
  const std::string_view rest = cursor.rest();
  std::size_t in = rest.find(", in ");
  std::size_t skip = 5;
  if (in == kNowhere) in = rest.find(" in "), skip = 4;
  const std::string_view place = rest.substr(0, in);
  const std::size_t colon = place.rfind(':');
  if (colon == kNowhere || colon + 1 >= place.size()) return std::nullopt;
  const auto line = line_number(to_integer(place.substr(colon + 1)));
  if (!line || !is_path(place.substr(0, colon))) return std::nullopt;
  if (in == kNowhere && !text.starts_with("File ")) return std::nullopt;  // any "path:line" of a log
  TraceFrame frame{.file = std::string(place.substr(0, colon)), .line = *line, .function = {}, .code = {}};
  if (in != kNowhere) frame.function = function_name(rest.substr(in + skip));
  return frame;
}

// "/usr/lib/python3.7/site-packages/torch/nn/modules/module.py in _call_impl(self, *input)": IPython up to 7
std::optional<TraceFrame> path_frame(std::string_view text) {
  const std::size_t in = text.find(" in ");
  if (in == kNowhere || !text.ends_with(')') || !is_path(text.substr(0, in)) || text.substr(0, in).contains(' ')) {
    // "<ipython-input-5-0a1b> in <module>"
    if (in == kNowhere || !text.starts_with("<ipython-input") || text.substr(0, in).contains(' ')) return std::nullopt;
  }
  return TraceFrame{
      .file = std::string(text.substr(0, in)), .line = 0, .function = function_name(text.substr(in + 4)), .code = {}};
}

bool ends_like_exception(std::string_view name) {
  for (const std::string_view end : {"Error", "Exception", "Warning", "Interrupt", "Exit", "error", "timeout", "Empty",
                                     "Full", "Failure", "Timeout", "Signal", "Stopped", "Skipped", "NotFound"}) {
    if (name.ends_with(end)) return true;
  }
  return false;
}

}  // namespace

std::string_view without_box(std::string_view text) {
  text = trim(text);
  for (const std::string_view side : {"│", "┃", "|"}) {
    if (text.starts_with(side)) text = trim(text.substr(side.size()));
    if (text.ends_with(side)) text = trim(text.substr(0, text.size() - side.size()));
  }
  return text;
}

TraceHeaderLine parse_trace_header(std::string_view text) {
  TraceHeaderLine header;
  std::size_t at = text.find("Traceback (most recent call last)");
  if (at == kNowhere) at = text.find("Traceback (innermost last)");
  if (at != kNowhere) {
    header.kind = TraceHeader::kPlain;
    header.column = at;
    const std::string_view before = text.substr(0, at);
    if (before.ends_with("Original ")) {
      header.kind = TraceHeader::kOriginal;
      header.column = at - 9;
    } else if (before.ends_with("    ")) {  // IPython: the type stands at the line's start, far before
      std::string_view name = trim(before);
      const std::size_t begin = name.rfind(' ') == kNowhere ? 0 : name.rfind(' ') + 1;
      name = name.substr(begin);
      if (ends_like_exception(name) && std::all_of(name.begin(), name.end(), is_name)) {
        header.type = std::string(name);
        header.column = 0;
      }
    }
    return header;
  }
  if (text.contains("(most recent call first):") && contains_ignoring_case(text, "thread 0x"))
    header.kind = TraceHeader::kInnermostFirst;
  return header;
}

std::optional<model::TraceRelation> parse_trace_relation(std::string_view text) {
  if (text.contains("During handling of the above exception")) return model::TraceRelation::kDuringHandling;
  if (text.contains("The above exception was the direct cause")) return model::TraceRelation::kDirectCause;
  return std::nullopt;
}

std::optional<TraceFrame> parse_trace_frame(std::string_view text) {
  // One of these is in every frame; most lines of code have none.
  if (!text.contains(':') && !text.contains("File \"") && !text.contains(" in ") && !text.contains("In"))
    return std::nullopt;
  if (auto frame = plain_frame(text)) return frame;
  const std::string_view inside = without_box(text);
  if (auto frame = cell_frame(inside)) return frame;
  if (auto frame = colon_frame(inside)) return frame;
  return path_frame(inside);
}

std::optional<std::string> parse_trace_code(std::string_view text) {
  const std::string_view boxed = without_box(text);
  if (boxed.starts_with("❱")) {
    Cursor cursor(boxed.substr(std::string_view("❱").size()));
    cursor.skip_blanks();
    if (!cursor.take_integer()) return std::nullopt;
    std::string_view code = without_box(cursor.rest());
    while (code.starts_with("│")) code = trim(code.substr(std::string_view("│").size()));  // rich's indentation guides
    return std::string(code);
  }
  if (boxed.starts_with("--") || boxed.starts_with("->")) {  // "---> 12     y = f(x)"
    Cursor cursor(boxed);
    cursor.take_while([](char letter) { return letter == '-'; });
    if (!cursor.take(">")) return std::nullopt;
    cursor.skip_blanks();
    if (!cursor.take_integer()) return std::nullopt;
    return std::string(trim(cursor.rest()));
  }
  // Four blanks, of which a prefix may have taken one.
  if (!text.starts_with("   ") && !text.starts_with('\t')) return std::nullopt;
  const std::string_view code = trim(text);
  const bool marks =
      std::all_of(code.begin(), code.end(), [](char letter) { return std::string_view("~^ ").contains(letter); });
  if (code.empty() || marks) return std::nullopt;
  return std::string(code);
}

bool is_loose_code(std::string_view text) {
  text = trim(text);
  if (text.size() < 5 || text.size() > 400 || text.find("  ") != kNowhere) return false;
  if (text.starts_with("return ") || text.starts_with("eturn ")) return text.contains('(');
  const auto is_target = [](char letter) { return is_word(letter) || letter == '.' || letter == '[' || letter == ']'; };
  Cursor cursor(text);
  const std::string_view target = cursor.take_while(is_target);
  if (target.empty() || !(is_letter(target[0]) || target[0] == '_')) return false;
  if (cursor.take(" = ") || cursor.take(" += ")) return cursor.rest().contains('(') || cursor.rest().contains(" @ ");
  return target.contains('.') && cursor.take("(") && (text.ends_with(')') || text.ends_with(','));
}

std::optional<TraceException> parse_trace_exception(std::string_view text) {
  Cursor cursor(text);
  const std::string_view name = cursor.take_while(is_name);
  if (name.empty() || !is_letter(name[0]) || name.ends_with('.')) return std::nullopt;
  const std::string_view last = name.substr(name.rfind('.') == kNowhere ? 0 : name.rfind('.') + 1);
  if (last.empty() || (!ends_like_exception(last) && !(name.contains('.') && last[0] >= 'A' && last[0] <= 'Z')))
    return std::nullopt;
  if (cursor.at_end()) return TraceException{std::string(name), {}};
  if (!cursor.take(":")) return std::nullopt;
  return TraceException{std::string(name), std::string(trim(cursor.rest()))};
}

void read_trace_preamble(std::string_view text, model::Speaker& speaker) {
  Cursor cursor(text);
  if (cursor.pass("Exception in thread ")) {
    std::string_view name = trim(cursor.rest());
    if (name.ends_with(':')) name.remove_suffix(1);
    speaker.thread = std::string(name);
    return;
  }
  const std::string_view line = trim(text);
  if (line.starts_with("-- Process ")) {
    if (const auto index = integer_after(line, "-- Process ")) speaker.process = "Process " + std::to_string(*index);
  } else if (line.starts_with("Process ") && line.ends_with(':') && line.size() < 80) {
    speaker.process = std::string(line.substr(0, line.size() - 1));
  }
}

void read_trace_origin(std::string_view message, model::TracedException& exception, model::Speaker& speaker) {
  if (!message.starts_with("Caught ")) return;
  const std::size_t end = message.find(". ");
  exception.note = std::string(trim(message.substr(0, end == kNowhere ? end : end + 1)));
  if (const auto worker = integer_after(exception.note, "worker process");
      worker && *worker >= 0 && *worker < 1'000'000) {
    speaker.worker = static_cast<int>(*worker);
  }
  if (const std::size_t pin = exception.note.find("pin memory thread"); pin != kNowhere) {
    std::string_view thread = std::string_view(exception.note).substr(pin);
    if (thread.ends_with('.')) thread.remove_suffix(1);
    speaker.thread = std::string(thread);
  }
}

}  // namespace vramfit::ingest
