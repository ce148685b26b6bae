#include "doctor/last_line.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/letters.h"

namespace vramfit::doctor {

namespace {

bool is_ascii_letter(char letter) { return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z'); }
unsigned byte_of(char letter) { return static_cast<unsigned char>(letter); }

// The first byte of a letter of another script, or of one with an accent; not of signs, boxes, bars and pictures.
bool begins_foreign_letter(std::string_view text, std::size_t at) {
  const unsigned first = byte_of(text[at]), second = at + 1 < text.size() ? byte_of(text[at + 1]) : 0;
  if (first == 0xc3) return second != 0x97 && second != 0xb7;  // the signs of times and of division
  return (first > 0xc3 && first <= 0xdf) || first == 0xe0 || first == 0xe1 || (first >= 0xe3 && first <= 0xed);
}

bool has_letters(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is_ascii_letter(text[at]) || begins_foreign_letter(text, at)) return true;
  }
  return false;
}

// Without the colours of a terminal.
std::string without_colours(std::string_view line) {
  std::string plain;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\x1b') {
      while (at < line.size() && !is_ascii_letter(line[at])) ++at;
    } else {
      plain += line[at];
    }
  }
  const std::size_t begin = plain.find_first_not_of(" \t"), end = plain.find_last_not_of(" \t");
  return begin == std::string::npos ? std::string() : plain.substr(begin, end - begin + 1);
}

std::vector<std::string_view> split_at_blanks(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.empty()) return words;
    words.push_back(line.substr(0, line.find_first_of(" \t")));
    line.remove_prefix(words.back().size());
  }
}

// What it says but for its numbers, paths and blanks: the lines of a loop differ in nothing else.
std::string shape_of(std::string_view line) {
  std::string shape;
  for (const std::string_view word : split_at_blanks(line)) {
    if (word.contains('/') || word.contains('\\')) continue;
    for (const char letter : word) {
      if (is_ascii_letter(letter) || byte_of(letter) >= 0x80) shape += letter;
    }
    shape += ' ';
  }
  return shape;
}

// What programs and people say where all went well, or goes on.
bool is_ordinary_end(std::string_view low) {
  static constexpr auto kEnds = std::to_array<std::string_view>(
      {"finish", "complete", "done", "success", "saved", "saving", "passed", "resum", "continu", "retry", "recover",
       "reached", "best", "ready", "not a failure", "improv", "running on http", "listening on", "press ctrl", "no oom",
       "no error",
       // Chinese, Japanese, Korean
       "完成", "结束", "保存", "成功", "完了", "終了しました", "완료", "저장", "성공",
       // Russian, French, German, Spanish, Portuguese, Polish, Turkish, Vietnamese
       "заверш", "готов", "сохран", "успеш", "terminé", "enregistr", "sauvegard", "abgeschlossen", "gespeichert",
       "fertig", "guardad", "completad", "finaliz", "conclu", "salvo", "zakończ", "zapisan", "tamamland", "kaydedil",
       "hoàn", "xong"});
  // "无法完成操作": that it could not be completed is no end that was wanted.
  static constexpr auto kDenials = std::to_array<std::string_view>(
      {"cannot", "can't", "could not", "unable", "without", "无法", "未能", "不能", "失败", "ません", "失敗", "실패",
       "못", "не удалось", "nicht", "no se pudo", "échou", "não foi", "nie uda"});
  if (std::ranges::any_of(kDenials, [&](std::string_view word) { return low.contains(word); })) return false;
  return std::ranges::any_of(kEnds, [&](std::string_view word) { return low.contains(word); });
}

// Rows of tables and progress bars.
bool is_of_table(std::string_view line) {
  return line.starts_with('|') || line.starts_with('+') || line.contains("%|") || line.ends_with('|');
}

// "学習時間: 12分": a name and its figure.
bool has_labelled_figure(std::string_view line) {
  for (const std::string_view sign : {":", "=", "："}) {
    for (std::size_t at = line.find(sign); at != std::string_view::npos; at = line.find(sign, at + 1)) {
      const std::size_t value = line.find_first_not_of(' ', at + sign.size());
      if (at > 0 && value != std::string_view::npos && base::is_digit(line[value])) return true;
    }
  }
  return false;
}

bool is_foreign(std::string_view line) {
  if (has_labelled_figure(line)) return false;
  return std::ranges::any_of(split_at_blanks(line), [](std::string_view word) {
    if (word.contains('/') || word.contains('\\')) return false;
    for (std::size_t at = 0; at < word.size(); ++at) {
      if (begins_foreign_letter(word, at)) return true;
    }
    return false;
  });
}

// Words of an end that nobody wanted, each at the beginning of a word: "kill" and not "skill". A number before them
// counts such events: "0 failed".
bool tells_bad_end(std::string_view line, std::string_view low) {
  static constexpr auto kFailures = std::to_array<std::string_view>(
      {"kill",         "died ",           "crash",      "fatal",         "abort",       "failed",
       "quota",        "denied",          "refused",    "insufficient",  "not enough",  "no_memory",
       "context_lost", "connection lost", "0xc0000",    "gone over",     "exceeds max", "greater than webgl",
       "fault",        "out of gpu",      "out of res", "out of memory", "out of space"});
  for (const std::string_view word : kFailures) {
    for (std::size_t at = low.find(word); at != std::string_view::npos; at = low.find(word, at + 1)) {
      const std::size_t before = low.substr(0, at).find_last_not_of(" ");
      const bool is_count =
          before != std::string_view::npos && before + 1 < at && base::is_digit(low[before]) && word != "0xc0000";
      if ((at == 0 || !is_ascii_letter(low[at - 1])) && !is_count) return true;
    }
  }
  // A name of an error, and not a figure: "Test Error 0.12", "error: 3e-4"
  for (std::size_t at = line.find("Error"); at != std::string_view::npos; at = line.find("Error", at + 1)) {
    const std::string_view behind = line.substr(at + 5);
    if (behind.starts_with(']') || behind.empty() ||
        (behind.starts_with(": ") && behind.size() > 2 && is_ascii_letter(behind[2])))
      return true;
  }
  return false;
}

// The shell's word for how a process ended stands alone, and so do few others: "Zabit". English has been read.
bool is_one_word(std::string_view line, std::string_view low) {
  constexpr std::size_t kShortest = 5, kLongest = 24;
  return line.size() >= kShortest && line.size() <= kLongest && line[0] >= 'A' && line[0] <= 'Z' &&
         std::ranges::all_of(low.substr(1), is_ascii_letter) && std::ranges::equal(line.substr(1), low.substr(1)) &&
         !low.ends_with("ing") && !low.ends_with("ed") && low != "false" && low != "goodbye" && low != "exit";
}

// "Kesalahan: memori GPU tidak cukup": a word, a colon and words without a number, of which none holds an English
// sentence together.
bool is_announced(std::string_view line, std::string_view low) {
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos || colon < 4 || !std::ranges::all_of(line.substr(0, colon), is_ascii_letter) ||
      std::ranges::any_of(line, [](char letter) { return base::is_digit(letter); }))
    return false;
  static constexpr auto kEnglish = std::to_array<std::string_view>(
      {"the", "a",     "an",   "is",  "are", "was",   "to",       "of",   "in",    "on",
       "at",  "for",   "with", "and", "or",  "from",  "by",       "no",   "not",   "none",
       "all", "using", "will", "be",  "new", "model", "training", "true", "false", "running"});
  const auto words = split_at_blanks(low.substr(colon + 2));
  const bool is_english = std::ranges::any_of(words, [](std::string_view word) {
    return std::ranges::find(kEnglish, word) != kEnglish.end() || word.contains('.') || word.contains('/') ||
           word.contains('_') || word.contains('=');
  });
  return words.size() >= 3 && !is_english;
}

// A word of nothing but letters: "gone,", "can't", "half-way". Names of programs have other signs in them.
std::string_view plain_word(std::string_view word) {
  constexpr std::string_view kAround = "\"'`()[]<>*.,;:!?";
  const std::size_t begin = word.find_first_not_of(kAround), end = word.find_last_not_of(kAround);
  if (begin == std::string_view::npos) return {};
  word = word.substr(begin, end - begin + 1);
  const bool is_plain =
      std::ranges::all_of(word, [](char letter) { return is_ascii_letter(letter) || letter == '\'' || letter == '-'; });
  return is_plain && is_ascii_letter(word.front()) ? word : std::string_view();
}

bool has_digit(std::string_view word) { return std::ranges::any_of(word, base::is_digit); }

// What logs name beside their figures, the units, and what loggers call their levels.
bool is_word_of_logs(std::string_view low) {
  static constexpr auto kWords = std::to_array<std::string_view>(
      {"epoch",   "epochs",     "step",     "steps",      "iter",     "iteration", "iterations", "batch",
       "batches", "loss",       "losses",   "acc",        "accuracy", "error",     "lr",         "learning",
       "rate",    "train",      "training", "trained",    "val",      "valid",     "validation", "validate",
       "eval",    "evaluation", "test",     "testing",    "mean",     "average",   "avg",        "total",
       "sum",     "score",      "map",      "miou",       "iou",      "bleu",      "ppl",        "perplexity",
       "reward",  "throughput", "fps",      "samples",    "images",   "tokens",    "examples",   "time",
       "took",    "elapsed",    "eta",      "in",         "of",       "for",       "per",        "at",
       "on",      "from",       "to",       "and",        "with",     "s",         "sec",        "secs",
       "second",  "seconds",    "m",        "min",        "mins",     "minute",    "minutes",    "h",
       "hours",   "hour",       "ms",       "us",         "b",        "kb",        "mb",         "gb",
       "kib",     "mib",        "gib",      "memory",     "mem",      "peak",      "gpu",        "cuda",
       "cpu",     "ram",        "vram",     "allocated",  "reserved", "used",      "usage",      "size",
       "speed",   "data",       "model",    "parameters", "params",   "real",      "user",       "sys",
       "info",    "debug",      "notice",   "log",        "i",        "d",         "rank",       "worker",
       "device",  "fold",       "run",      "trial",      "round",    "cycle",     "seed",       "top",
       "class",   "precision",  "recall",   "f",          "auc",      "psnr",      "ssim",       "fid",
       "true",    "false",      "none",     "null",       "yes",      "all",       "exit",       "exits",
       "exited",  "code",       "return",   "status"});
  return std::ranges::find(kWords, low) != kWords.end();
}

// "Loading the shards", "Server started": with these words programs say what they are about to do, or have just done.
bool announces(std::string_view low) {
  static constexpr auto kWhole =
      std::to_array<std::string_view>({"begin", "begins", "built", "found", "got", "set", "wrote", "written", "read"});
  static constexpr auto kStems = std::to_array<std::string_view>(
      {"allocat",    "build",   "cach",      "calculat",  "captur",   "check",   "collect",  "compil", "comput",
       "configur",   "convert", "creat",     "decod",     "detect",   "disabl",  "download", "dump",   "enabl",
       "encod",      "enter",   "evaluat",   "export",    "extract",  "fetch",   "freez",    "fus",    "generat",
       "import",     "infer",   "initializ", "initialis", "inject",   "install", "launch",   "listen", "load",
       "logg",       "mapp",    "measur",    "merg",      "mov",      "optimiz", "pars",     "play",   "plott",
       "prepar",     "process", "quantiz",   "read",      "register", "restor",  "reus",     "runn",   "sampl",
       "sav",        "scann",   "select",    "serv",      "sett",     "shuffl",  "skipp",    "start",  "stor",
       "synchroniz", "tokeniz", "unload",    "updat",     "upload",   "us",      "validat",  "visit",  "warm",
       "writ"});
  if (std::ranges::find(kWhole, low) != kWhole.end()) return true;
  return std::ranges::any_of(kStems, [&](std::string_view stem) {
    return low.starts_with(stem) && (low.substr(stem.size()) == "ing" || low.substr(stem.size()) == "ed");
  });
}

// Words that take back what was announced: "Training stopped", "Loading it never ended".
bool takes_back(std::string_view low) {
  static constexpr auto kWords = std::to_array<std::string_view>(
      {"but",     "no",       "not",     "never", "nothing",  "nobody",      "without", "gone",    "went",
       "stop",    "stops",    "stopped", "stuck", "hang",     "hangs",       "hung",    "froze",   "frozen",
       "freezes", "dead",     "dies",    "dying", "dropped",  "lost",        "lose",    "again",   "forever",
       "until",   "anymore",  "black",   "blank", "vanished", "disappeared", "silent",  "silence", "quit",
       "quits",   "crawl",    "crawls",  "slow",  "slower",   "too",         "ended",   "ends",    "alone",
       "then",    "suddenly", "less",    "away",  "full",     "only"});
  return low.ends_with("n't") || std::ranges::find(kWords, low) != kWords.end();
}

// A line of words that neither a label nor a figure explains: somebody, or some program, says something, and it is the
// only time. What is left out is what stands before a colon or "=" that a figure follows, and words of this log.
bool says_something_new(std::string_view line, const std::vector<std::string>& lines) {
  const auto words = split_at_blanks(line);
  std::size_t fresh = 0, plain = 0;
  bool announced = false, says_what_is_done = false, taken_back = false;
  std::vector<std::string> known;
  for (const std::string& above : lines) {
    for (const std::string_view word : split_at_blanks(above)) known.push_back(lowered(plain_word(word)));
  }
  std::ranges::sort(known);
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string low = lowered(plain_word(words[at]));
    if (low.empty()) continue;
    ++plain;
    if (announces(low)) {
      announced |= fresh == 0;
      says_what_is_done = true;
      continue;
    }
    if (is_word_of_logs(low) || std::ranges::binary_search(known, low)) continue;
    taken_back |= takes_back(low);
    // "Temps total : 12 s"
    std::size_t behind = at;
    while (behind < words.size() && behind < at + 3 && !words[behind].ends_with(':') && !words[behind].ends_with('='))
      ++behind;
    const bool has_sign = behind < words.size() && (words[behind].ends_with(':') || words[behind].ends_with('='));
    if (has_sign && behind + 1 < words.size() && has_digit(words[behind + 1])) continue;
    ++fresh;
  }
  if (plain < 2 || fresh == 0) return false;
  announced |= says_what_is_done && fresh == 1;  // "Engine built in 9 s"
  const bool is_row_of_names = plain * 2 <= words.size();
  return taken_back || (!is_row_of_names && !announced);
}

// "me@box:~/work$": the shell waits, and no program says that.
bool is_prompt(std::string_view line) {
  return (line.ends_with('$') || line.ends_with('#') || line.ends_with('%') || line.ends_with('>')) &&
         (line.contains('@') || line.contains(":\\") || line.starts_with('('));
}

}  // namespace

std::optional<model::SourceLine> find_strange_last_line(const model::TextFile& file) {
  std::vector<std::string> lines;
  for (std::string_view left = file.sample; !left.empty();) {
    const std::size_t end = std::min(left.find_first_of("\r\n"), left.size());
    if (has_letters(left.substr(0, end))) lines.push_back(without_colours(left.substr(0, end)));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  while (!lines.empty() && is_prompt(lines.back())) lines.pop_back();
  if (lines.empty()) return std::nullopt;
  const std::string last = lines.back(), low = lowered(last);
  // What is said over and over at the end, with no figure that goes on, is said once.
  while (!lines.empty() && lines.back() == last) lines.pop_back();
  const std::string shape = shape_of(last);
  if (std::ranges::any_of(lines, [&](const std::string& line) { return shape_of(line) == shape; })) return std::nullopt;
  if (is_ordinary_end(low) || is_of_table(last)) return std::nullopt;
  if (!is_foreign(last) && !tells_bad_end(last, low) && !is_one_word(last, low) && !is_announced(last, low) &&
      !says_something_new(last, lines))
    return std::nullopt;
  return model::SourceLine{file.name, 0, last};
}

}  // namespace vramfit::doctor
