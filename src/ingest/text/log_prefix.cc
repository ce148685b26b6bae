#include "ingest/text/log_prefix.h"

#include <array>
#include <optional>
#include <string>

#include "ingest/text/cursor.h"

namespace vramfit::ingest {
namespace {

using model::Speaker;

// Each piece returns the bytes it takes from the start of `text`, 0 if it is not there, and tells who speaks.
using Piece = std::size_t (*)(std::string_view text, Speaker& speaker);

std::size_t digits_at(std::string_view text, std::size_t from) {
  std::size_t end = from;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - from;
}

// "10:02:05", "10:02:05.123456", "10:02:05,123": its length, or 0.
std::size_t clock_length(std::string_view text) {
  std::size_t at = 0;
  for (int part = 0; part < 3; ++part) {
    const std::size_t digits = digits_at(text, at);
    if (digits < 1 || digits > 2) return 0;
    at += digits;
    if (part == 2) break;
    if (at >= text.size() || text[at] != ':') return 0;
    ++at;
  }
  if (at < text.size() && (text[at] == '.' || text[at] == ',')) {
    const std::size_t digits = digits_at(text, at + 1);
    if (digits > 0) at += 1 + digits;
  }
  if (at < text.size() && text[at] == 'Z') return at + 1;
  if (at + 5 < text.size() && (text[at] == '+' || text[at] == '-') && digits_at(text, at + 1) == 2) {
    const std::size_t zone = at + 3 + (text[at + 3] == ':' ? 1 : 0);
    if (digits_at(text, zone) == 2) at = zone + 2;
  }
  return at;
}

// "2024-05-01", "2024/05/01", "05/01", "05-01": its length, or 0.
std::size_t date_length(std::string_view text) {
  std::size_t at = 0;
  int parts = 0;
  while (parts < 3) {
    const std::size_t digits = digits_at(text, at);
    if (digits != 2 && digits != 4) break;
    at += digits;
    ++parts;
    if (parts == 3 || at >= text.size() || (text[at] != '-' && text[at] != '/' && text[at] != '.')) break;
    ++at;
  }
  return parts >= 2 && at > 0 && is_digit(text[at - 1]) ? at : 0;
}

std::size_t month_length(std::string_view text) {
  static constexpr std::string_view kMonths = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec";
  if (text.size() < 4 || text[3] != ' ' || kMonths.find(text.substr(0, 3)) % 4 != 0) return 0;
  Cursor cursor(text.substr(3));
  cursor.skip_blanks();
  const auto day = cursor.take_integer();
  return day && *day >= 1 && *day <= 31 ? 3 + cursor.position() : 0;
}

// "2024-05-01 10:00:00,123", also in brackets; "Nov 21 10:02:05"; a clock alone.
std::size_t take_time(std::string_view text, Speaker&) {
  const bool bracket = text.starts_with('[');
  std::size_t at = bracket ? 1 : 0;
  std::size_t date = date_length(text.substr(at));
  if (date == 0) date = month_length(text.substr(at));
  at += date;
  if (date > 0 && at < text.size() && (text[at] == ' ' || text[at] == 'T' || text[at] == '_' || text[at] == ',')) {
    ++at;
    while (at < text.size() && text[at] == ' ') ++at;
  }
  const std::size_t clock = clock_length(text.substr(at));
  if (clock == 0) return 0;
  at += clock;
  if (bracket) {
    const std::size_t close = text.find(']', at);
    if (close == std::string_view::npos || close > at + 24) return 0;
    return close + 1;
  }
  if (at < text.size() && text[at] == ':') ++at;  // "10:00:00.0: W tensorflow/..."
  return at;
}

// glog and absl: "E0328 18:18:48.413000 140217767576768 torch/distributed/api.py:826]"
std::size_t take_glog(std::string_view text, Speaker&) {
  if (text.size() < 8 || !std::string_view("IWEF").contains(text[0]) || digits_at(text, 1) != 4 || text[5] != ' ')
    return 0;
  const std::size_t clock = clock_length(text.substr(6));
  const std::size_t close = text.find("] ", 6);
  if (clock == 0 || close == std::string_view::npos || close > 160) return 0;
  return close + 1;
}

// dmesg: "[12345.678901]"
std::size_t take_uptime(std::string_view text, Speaker&) {
  Cursor cursor(text);
  if (!cursor.take("[")) return 0;
  cursor.skip_blanks();
  const std::size_t digits = cursor.take_while(is_digit).size();
  if (digits == 0 || !cursor.take(".") || cursor.take_while(is_digit).size() < 3 || !cursor.take("]")) return 0;
  return cursor.position();
}

// "[rank3]:", "[rank:3]", "[Rank 3]", "rank3:", "rank 3:", "(rank 3)", "[default3]:", "[trainer0|3]:"
std::size_t take_rank(std::string_view text, Speaker& speaker) {
  Cursor cursor(text);
  const bool bracket = cursor.take("[") || cursor.take("(");
  const std::size_t name = cursor.position();
  cursor.take_while([](char letter) { return is_letter(letter); });
  const std::string_view word = text.substr(name, cursor.position() - name);
  const bool role =
      same_ignoring_case(word, "default") || same_ignoring_case(word, "trainer") || same_ignoring_case(word, "worker");
  if (!same_ignoring_case(word, "rank") && !(role && bracket)) return 0;
  if (role && !cursor.take_while(is_digit).empty() && !cursor.take("|"))
    cursor = Cursor(text), cursor.take(text.substr(0, name + word.size()));
  cursor.take_while([](char letter) { return letter == ' ' || letter == ':' || letter == '_' || letter == '='; });
  const auto rank = cursor.take_integer();
  if (!rank || *rank < 0 || *rank > 1'000'000) return 0;
  if (bracket ? !(cursor.take("]") || cursor.take(")")) : cursor.peek() != ':') return 0;
  cursor.take(":");
  speaker.rank = static_cast<int>(*rank);
  return cursor.position();
}

// srun -l "3: ", torchelastic "[3]:", mpirun "[1,3]<stderr>:"
std::size_t take_label(std::string_view text, Speaker& speaker) {
  Cursor cursor(text);
  const bool bracket = cursor.take("[");
  cursor.skip_blanks();
  auto number = cursor.take_integer();
  if (!number || *number < 0 || *number > 1'000'000) return 0;
  if (bracket) {
    if (cursor.take(",")) number = cursor.take_integer();
    if (!number || !cursor.take("]")) return 0;
    const bool stream = cursor.take("<stderr>") || cursor.take("<stdout>");
    if (!cursor.take(":") && !stream) return 0;
  } else if (!cursor.take(": ")) {
    return 0;
  } else {
    speaker.rank = static_cast<int>(*number);
    return cursor.position();  // exactly one blank is the label's
  }
  speaker.rank = static_cast<int>(*number);
  return cursor.position();
}

// Ray and vLLM: "(RayTrainWorker pid=123, ip=10.0.0.1)", "(EngineCore_0 pid=55)", "(Worker_TP1 rank=1 pid=4)"
std::size_t take_actor(std::string_view text, Speaker& speaker) {
  const bool open = text.starts_with('(');
  const std::size_t close = text.find(')');
  if (close > 120) return 0;  // npos too
  const std::string_view inside = text.substr(open ? 1 : 0, close - (open ? 1 : 0));
  if (!inside.contains("pid=") || inside.contains('(')) return 0;
  if (!open && !inside.starts_with("VllmWorker")) return 0;
  speaker.process = std::string(trim(inside));
  if (const auto rank = integer_after(inside, "rank="); rank && *rank >= 0 && *rank < 1'000'000) {
    speaker.rank = static_cast<int>(*rank);
  }
  return close + 1;
}

// A container runtime's "stderr F ", behind its time.
std::size_t take_stream(std::string_view text, Speaker&) {
  for (const std::string_view name : {"stderr F", "stdout F", "stderr P", "stdout P"}) {
    if (text.starts_with(name) && (text.size() == name.size() || text[name.size()] == ' ')) return name.size();
  }
  return 0;
}

// docker compose's "trainer-1  | " and foreman's "web.1 | ": a name with a number, then a bar.
std::size_t take_service(std::string_view text, Speaker& speaker) {
  Cursor cursor(text);
  const std::string_view name =
      cursor.take_while([](char letter) { return is_word(letter) || letter == '-' || letter == '.'; });
  if (name.size() < 3 || !is_digit(name.back()) || !is_letter(name.front())) return 0;
  if (!name.contains('-') && !name.contains('_') && !name.contains('.')) return 0;
  cursor.skip_blanks();
  if (!cursor.take("|") || (!cursor.at_end() && cursor.peek() != ' ')) return 0;
  speaker.process = std::string(name);
  return cursor.position();
}

// syslog and journald behind their time: "host python3[77]:", "host kernel:"
std::size_t take_syslog(std::string_view text, Speaker& speaker) {
  Cursor cursor(text);
  const auto is_name = [](char letter) { return is_word(letter) || std::string_view("-./@\\").contains(letter); };
  if (cursor.take_while(is_name).empty() || !cursor.take(" ")) return 0;
  const std::string_view program = cursor.take_while(is_name);
  if (program.empty()) return 0;
  if (cursor.take("[")) {
    if (!cursor.take_integer() || !cursor.take("]")) return 0;
    speaker.process = std::string(program);
  } else if (program != "kernel" && program != "systemd") {
    return 0;
  }
  return cursor.take(":") ? cursor.position() : 0;
}

bool is_level(std::string_view word) {
  static constexpr std::array<std::string_view, 11> kLevels{"debug",    "info",  "warning", "warn",   "error",  "err",
                                                            "critical", "fatal", "trace",   "notice", "success"};
  for (const std::string_view level : kLevels) {
    if (same_ignoring_case(word, level)) return true;
  }
  return false;
}

// "ERROR", "[ERROR]", "- ERROR -", "| ERROR    |", "ERROR:root:"; a lower-case word only within brackets.
std::size_t take_level(std::string_view text, Speaker&) {
  Cursor cursor(text);
  const auto is_mark = [](char letter) { return std::string_view("-|[(").contains(letter) || is_blank(letter); };
  const std::string_view before = cursor.take_while(is_mark);
  const std::string_view word = cursor.take_while(is_letter);
  if (!is_level(word)) return 0;
  const bool marked = before.contains('[') || before.contains('|') || before.contains('-');
  if (!marked && word[0] >= 'a') return 0;
  if (before.contains('[') && !cursor.take("]")) return 0;
  if (!marked && cursor.peek() == ':' && !cursor.rest().starts_with(": ")) {  // logging's "ERROR:root:text"
    cursor.take(":");
    if (cursor.take_while([](char letter) { return is_word(letter) || letter == '.'; }).empty() || !cursor.take(":"))
      return 0;
    return cursor.position();
  }
  if (!marked && cursor.peek() != ' ' && cursor.peek() != ':') return 0;
  cursor.take(":");
  Cursor closing = cursor;  // "| ERROR    | text", "- ERROR - text"
  closing.skip_blanks();
  if (!before.contains('[') && marked && (closing.take("|") || closing.take("-"))) return closing.position();
  return cursor.position();
}

// The place in the source where a logger stood: "[core.py:390]", "[launch.py:222:main]", "(utils.py:10)"
std::size_t take_source(std::string_view text, Speaker&) {
  if (!text.starts_with('[') && !text.starts_with('(')) return 0;
  const std::size_t close = text.find(text[0] == '[' ? ']' : ')');
  if (close > 100) return 0;  // npos too
  const std::string_view inside = text.substr(1, close - 1);
  const std::size_t colon = inside.find(':');
  if (colon == std::string_view::npos || digits_at(inside, colon + 1) == 0) return 0;
  return inside.contains(".py:") || inside.contains(".cpp:") || inside.contains(".cc:") ? close + 1 : 0;
}

// "> " of a quotation, "# " of a comment, "// "
std::size_t take_quotation(std::string_view text, Speaker&) {
  if (text == ">" || text == "#") return 1;
  if (text.starts_with(">>>")) return 0;
  for (const std::string_view mark : {"> ", "# ", "// "}) {
    if (text.starts_with(mark)) return mark.size();
  }
  return 0;
}

// A tag of a launcher: "[Stage-0]", "[trainer]"; a number alone is a job of the shell.
std::size_t take_tag(std::string_view text, Speaker&) {
  if (!text.starts_with('[')) return 0;
  Cursor cursor(text.substr(1));
  const std::string_view tag =
      cursor.take_while([](char letter) { return is_word(letter) || letter == '-' || letter == '.'; });
  if (tag.empty() || tag.size() > 24 || !is_letter(tag[0]) || !cursor.take("]") || cursor.peek() != ' ') return 0;
  return 1 + cursor.position();
}

// Only a number, a level or a mark before one begins a piece behind blanks: not the frames of a traceback, nor its
// code.
bool may_begin_behind_blanks(std::string_view line) {
  const std::size_t at = line.find_first_not_of(' ');
  if (at == std::string_view::npos) return false;
  const char letter = line[at];
  return !(letter >= 'a' && letter <= 'z') && letter != '^' && !line.substr(at).starts_with("File ");
}

constexpr std::array<Piece, 12> kPieces{take_time,    take_glog,  take_uptime, take_rank,   take_actor,     take_stream,
                                        take_service, take_label, take_level,  take_source, take_quotation, take_tag};
constexpr int kMostPieces = 8;

}  // namespace

LogPrefix parse_log_prefix(std::string_view line) {
  LogPrefix prefix;
  if (line.starts_with(' ') && !may_begin_behind_blanks(line)) return prefix;
  bool timed = false;
  for (int count = 0; count < kMostPieces; ++count) {
    // Blanks between two pieces are the prefix's; those before the text itself are the text's, but for one.
    std::size_t start = prefix.length;
    while (start < line.size() && line[start] == ' ' && start - prefix.length < 3 && count > 0) ++start;
    const std::string_view rest = line.substr(start);
    std::size_t taken = 0;
    for (const Piece piece : kPieces) {
      taken = piece(rest, prefix.speaker);
      if (taken == 0) continue;
      timed |= piece == take_time;
      break;
    }
    if (taken == 0 && timed) taken = take_syslog(rest, prefix.speaker);
    if (taken == 0) break;
    prefix.length = start + taken;
  }
  if (prefix.length > 0 && prefix.length < line.size() && line[prefix.length] == ' ' &&
      line[prefix.length - 1] != ' ') {
    ++prefix.length;
  }
  return prefix;
}

}  // namespace vramfit::ingest
