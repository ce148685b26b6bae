#include "doctor/last_line.h"

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/letters.h"
#include "base/parse_number.h"

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

// ---- a line's words -------------------------------------------------------------------------------------------------

constexpr std::string_view kNumber = "#";

// "1e", "12ms", "GPU0", "0x3f": what has a digit is a figure with its unit, its place or its name's number.
bool is_figure(std::string_view word) { return std::ranges::any_of(word, base::is_digit); }
bool is_value(std::string_view low) {
  static constexpr auto kValues =
      std::to_array<std::string_view>({"nan", "inf", "none", "null", "true", "false", "n/a"});
  return std::ranges::find(kValues, low) != kValues.end();
}

// "out.pt", "plot.png,": a name with the ending of a file.
bool is_file_name(std::string_view word) {
  static constexpr auto kEndings = std::to_array<std::string_view>(
      {"pt",   "pth", "bin", "safetensors", "onnx", "json", "jsonl", "txt",    "log",    "csv", "png",  "jpg",
       "jpeg", "npz", "npy", "pkl",         "h5",   "hdf5", "keras", "ckpt",   "yaml",   "yml", "gguf", "engine",
       "plan", "zip", "tar", "gz",          "mp4",  "wav",  "gif",   "pdf",    "html",   "py",  "xml",  "parquet",
       "db",   "md",  "ply", "glb",         "webp", "tsv",  "mp3",   "joblib", "pickle", "out"});
  while (!word.empty() && std::string_view(".,;:!'\")]").contains(word.back())) word.remove_suffix(1);
  const std::size_t dot = word.rfind('.');
  return dot != std::string_view::npos && dot > 0 &&
         std::ranges::find(kEndings, base::lowered(word.substr(dot + 1))) != kEndings.end();
}

// A file or an address, not "train/loss" with its figure behind it.
bool is_path(std::string_view word) {
  while (!word.empty() && std::string_view("\"'([").contains(word.front())) word.remove_prefix(1);
  if (is_file_name(word)) return true;
  if (word.contains('\\') || word.contains("://") || word.starts_with('/') || word.starts_with("./")) return true;
  if (!word.contains('/')) return false;
  const std::size_t slash = word.rfind('/');
  return !word.contains('=') &&
         (word.ends_with('/') || word.substr(slash).contains('.') || std::ranges::count(word, '/') > 1);
}

// What it says, in lower case: its words in their order, "#" for figures that stand side by side. Signs are left out,
// and so are paths.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  const auto add = [&](std::string word) {
    if (is_figure(word) || is_value(word)) word = kNumber;
    if (word != kNumber || words.empty() || words.back() != kNumber) words.push_back(std::move(word));
  };
  for (const std::string_view token : split_at_blanks(line)) {
    if (is_path(token)) continue;
    std::string word;
    for (std::size_t at = 0; at < token.size(); ++at) {
      const bool is_sign = byte_of(token[at]) < 0x80
                               ? !is_ascii_letter(token[at]) && !base::is_digit(token[at])
                               : (byte_of(token[at]) & 0xc0) != 0x80 && !begins_foreign_letter(token, at);
      // Within a figure: "0.5", "10:02:05", "1e-05"; within a word: "can't".
      const bool joins =
          is_sign && !word.empty() && at + 1 < token.size() &&
          ((token[at] == '\'' && is_ascii_letter(token[at + 1])) ||
           (std::string_view(".,:-+").contains(token[at]) && base::is_digit(token[at + 1]) && is_figure(word)));
      if (!is_sign || joins) {
        word += base::lower(token[at]);
        continue;
      }
      if (byte_of(token[at]) >= 0x80) {  // a sign of several bytes
        while (at + 1 < token.size() && (byte_of(token[at + 1]) & 0xc0) == 0x80) ++at;
      }
      if (!word.empty()) add(std::move(word));
      word.clear();
    }
    if (!word.empty()) add(std::move(word));
  }
  return words;
}

// ---- a line that the log has had before -----------------------------------------------------------------------------

// The lines of a loop differ in nothing but their figures. A line that came once may be what a failure says twice, and
// eight ranks say it eight times at the end: a log's own lines come before that end too, or are most of it.
bool is_of_log(const std::vector<std::string>& words, const std::vector<std::vector<std::string>>& above) {
  constexpr std::size_t kFewestBefore = 2;
  std::size_t before = 0, of_end = 0;
  bool at_end = true;
  for (auto line = above.rbegin(); line != above.rend(); ++line) {
    const bool is_same = *line == words;
    before += is_same;
    at_end = at_end && is_same;
    of_end += at_end;
  }
  return before >= kFewestBefore && (before > of_end || 2 * (before + 1) > above.size() + 1);
}

// ---- a line whose words are all known, and known to be harmless -----------------------------------------------------

bool is_any_of(std::string_view low, const std::set<std::string_view>& words) { return words.contains(low); }

// What is measured, and in what: none of it is memory's or a process's.
const std::set<std::string_view>& measures() {
  static const std::set<std::string_view> kWords{
      "epoch",   "epochs",   "step",       "steps",   "iter",     "iters",      "iteration", "iterations", "batch",
      "batches", "loss",     "losses",     "acc",     "accuracy", "acc1",       "lr",        "learning",   "rate",
      "train",   "training", "trained",    "val",     "valid",    "validation", "eval",      "evaluation", "evaluate",
      "test",    "testing",  "mean",       "average", "avg",      "median",     "std",       "total",      "sum",
      "score",   "scores",   "map",        "ap",      "ar",       "miou",       "iou",       "dice",       "bleu",
      "rouge",   "ppl",      "perplexity", "reward",  "return",   "throughput", "fps",       "sample",     "samples",
      "image",   "images",   "token",      "tokens",  "example",  "examples",   "time",      "took",       "elapsed",
      "eta",     "s",        "sec",        "secs",    "second",   "seconds",    "m",         "min",        "mins",
      "minute",  "minutes",  "h",          "hours",   "hour",     "ms",         "us",        "it",         "speed",
      "data",    "real",     "user",       "sys",     "fold",     "trial",      "round",     "cycle",      "seed",
      "top",     "class",    "precision",  "recall",  "f",        "f1",         "auc",       "psnr",       "ssim",
      "fid",     "mse",      "mae",        "rmse",    "best",     "final",      "max",       "grad",       "norm",
      "runtime", "percent",  "micro",      "macro",   "weighted", "support",    "duration",  "episode",    "episodes",
      "overall", "prompt",   "generation", "finish",  "metric",   "metrics",    "wall",      "clock",      "eps"};
  return kWords;
}

// What holds a sentence together, and what loggers put before it.
const std::set<std::string_view>& small_words() {
  static const std::set<std::string_view> kWords{
      "a",    "an",    "the",    "of",  "in",   "for",   "per",  "at",   "on",   "from", "to",    "and",
      "with", "by",    "is",     "are", "was",  "were",  "has",  "have", "been", "it",   "its",   "this",
      "all",  "as",    "your",   "you", "can",  "after", "into", "over", "we",   "i",    "now",   "be",
      "info", "debug", "notice", "log", "main", "root",  "d",    "jan",  "feb",  "mar",  "apr",   "may",
      "jun",  "jul",   "aug",    "sep", "oct",  "nov",   "dec",  "mon",  "tue",  "wed",  "thu",   "fri",
      "sat",  "sun",   "am",     "pm",  "utc",  "pst",   "pdt",  "cet",  "here", "see",  "under", "y"};
  return kWords;
}

// What is made, and who makes it.
const std::set<std::string_view>& things() {
  static const std::set<std::string_view> kWords{
      "model",       "models",       "weights",   "checkpoint",   "checkpoints", "state",      "file",    "files",
      "folder",      "results",      "result",    "output",       "outputs",     "logs",       "report",  "history",
      "process",     "job",          "run",       "script",       "program",     "everything", "trainer", "fit",
      "finder",      "engine",       "server",    "application",  "startup",     "tests",      "dataset", "inference",
      "prediction",  "predictions",  "picture",   "video",        "audio",       "lora",       "adapter", "tokenizer",
      "config",      "onnx",         "wandb",     "table",        "plot",        "figure",     "summary", "limit",
      "prompts",     "size",         "view",      "results",      "dir",         "directory",  "pytorch", "artifacts",
      "upload",      "warmup",       "benchmark", "export",       "request",     "work",       "stages",  "pass",
      "post",        "get",          "skipped",   "costs",        "warnings",    "uvicorn",    "taken",   "search",
      "calibration", "quantization", "download",  "installation", "build"};
  return kWords;
}

// An end that was wanted.
const std::set<std::string_view>& good_ends() {
  static const std::set<std::string_view> kWords{
      "finished",   "finishes",     "finish",    "complete", "completed", "completes", "done",      "success",
      "successful", "successfully", "succeeded", "saved",    "written",   "wrote",     "passed",    "reached",
      "ready",      "exported",     "built",     "bye",      "goodbye",   "uploaded",  "generated", "ok"};
  return kWords;
}

// "0" of "0.5" is another number.
bool begins_with_digits(std::string_view rest) {
  if (rest.starts_with('.')) rest.remove_prefix(1);
  return !rest.empty() && base::is_digit(rest.front());
}

// What a program says when it waits for others, or that what is feared did not come: whole phrases, read as one word.
std::string with_phrases(std::string low) {
  constexpr auto kGood = std::to_array<std::string_view>(
      {"exit code 0", "exit code: 0", "exited with code 0", "exit status 0", "exited with 0", "exited normally",
       "return code 0", "return code: 0", "returncode=0", "exitcode: 0", "exit_code=0", "exit_code: 0", "rc=0",
       "no ooms found", "no oom found", "no oom", "no errors", "no error", "no leaks", "no issues found",
       "no problems found", "not a failure", "server started", "startup complete", "running on http", "listening on",
       "press ctrl+c to quit", "press ctrl", "running on local url", "the server is fired up and ready to roll",
       // of Kaldi and of ONNX Runtime, as they begin
       "disabling caching of gpu memory", "begin execution",
       "do not forget to share your model on huggingface.co/models", "0 failed", "0 errors", "0 warnings", "0 failures",
       "stopped:"});
  for (const std::string_view good : kGood) {
    for (std::size_t at = low.find(good); at != std::string::npos; at = low.find(good, at + 6)) {
      const bool is_whole = (at == 0 || (!is_ascii_letter(low[at - 1]) && !base::is_digit(low[at - 1]))) &&
                            !begins_with_digits(std::string_view(low).substr(at + good.size()));
      if (is_whole) low.replace(at, good.size(), good == "stopped:" ? "  " : " done ");
    }
  }
  return low;
}

// A test's error is a figure: "Test Error 0.12", "mean absolute error: 3e-4".
std::string with_measured_errors(std::string low) {
  for (const std::string_view kind : {"test", "train", "training", "val", "validation", "mean", "average", "absolute",
                                      "squared", "class", "relative", "prediction", "eval"}) {
    for (const char between : {' ', '_', '-'}) {
      const std::string whole = std::string(kind) + between + "error";
      const std::size_t at = low.find(whole);
      if (at != std::string::npos) low.replace(at, whole.size(), "loss");
    }
  }
  return low;
}

// Every bracket and quotation that is opened is closed: a line that was cut has not.
bool is_whole(std::string_view line) {
  std::string open;
  std::size_t quotes = 0, ticks = 0;
  for (const char letter : line) {
    if (std::string_view("([{").contains(letter)) open += letter;
    if (std::string_view(")]}").contains(letter)) {
      const char opening = letter == ')' ? '(' : letter == ']' ? '[' : '{';
      if (!open.empty() && open.back() == opening) open.pop_back();
    }
    quotes += letter == '"';
    ticks += letter == '`';
  }
  return open.empty() && quotes % 2 == 0 && ticks % 2 == 0;
}

// In other languages: what ends so, unless it is denied. "无法完成操作": that it could not be completed.
bool is_foreign_end(std::string_view low) {
  static constexpr auto kEnds = std::to_array<std::string_view>(
      {"完成",        "结束",      "保存",     "成功",      "完了",    "終了しました", "완료",      "저장",
       "성공",        "заверш",    "сохран",   "успеш",     "terminé", "enregistr",    "sauvegard", "abgeschlossen",
       "gespeichert", "fertig",    "guardad",  "completad", "finaliz", "conclu",       "salvo",     "zakończ",
       "zapisan",     "tamamland", "kaydedil", "hoàn",      "xong"});
  static constexpr auto kDenials = std::to_array<std::string_view>(
      {"无法", "未能", "不能", "失败", "ません", "失敗", "실패", "못", "не ", "nicht", "no se pudo", "échou", "não ",
       "nie ", "但", "chưa", "không", "error", "fehler"});
  constexpr std::size_t kLongest = 80;  // bytes of such a line: more tells more than its end
  if (low.size() > kLongest || std::ranges::any_of(kDenials, [&](std::string_view word) { return low.contains(word); }))
    return false;
  return std::ranges::any_of(kEnds, [&](std::string_view word) { return low.contains(word); });
}

// What figures of memory are named after, where they tell how much is used and no figure says that it is all.
const std::set<std::string_view>& used_memory() {
  static const std::set<std::string_view> kWords{
      "memory", "mem", "gpu", "cuda", "vram", "allocated", "reserved", "used", "usage", "peak",  "cached",    "active",
      "torch",  "ma",  "ca",  "kb",   "mb",   "gb",        "kib",      "mib",  "gib",   "bytes", "footprint", "end"};
  return kWords;
}

// "100 %", "24564 / 24564 MiB": all of something.
bool tells_of_all(std::string_view line) {
  constexpr double kAllButAll = 0.95;
  double before = -1;  // the number before this one
  for (std::size_t at = 0; at < line.size();) {
    if (!base::is_digit(line[at])) {
      if (line[at] != '/' && line[at] != ' ' && !is_ascii_letter(line[at])) before = -1;
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && (base::is_digit(line[end]) || line[end] == '.')) ++end;
    const double number =
        base::parse_number<double>(line.substr(at, line[end - 1] == '.' ? end - 1 - at : end - at)).value_or(-1);
    const std::size_t behind = line.find_first_not_of(' ', end);
    if (behind != std::string_view::npos && line[behind] == '%' && number >= 100 * kAllButAll) return true;
    const std::size_t slash = line.substr(0, at).find_last_not_of(' ');
    if (slash != std::string_view::npos && line[slash] == '/' && number > 0 && before >= kAllButAll * number)
      return true;
    before = number;
    at = end;
  }
  return false;
}

// Without the place of source that a logger names: "[I:onnxruntime:, NAME:176 Execute]", "(NAME:168)".
std::string without_places(std::string_view line) {
  std::string rest(line);
  for (const auto& [opening, closing] : {std::pair('[', ']'), std::pair('(', ')')}) {
    for (std::size_t at = rest.find(opening); at != std::string::npos; at = rest.find(opening, at + 1)) {
      std::size_t end = at, depth = 0;
      do {
        depth += rest[end] == opening;
        depth -= rest[end] == closing;
        ++end;
      } while (end < rest.size() && depth > 0);
      const std::string_view group = std::string_view(rest).substr(at, end - at);
      const bool is_place =
          std::ranges::any_of(std::initializer_list<std::string_view>{".cc:", ".cpp:", ".cu:", ".py:", ".go:", ".rs:"},
                              [&](std::string_view ending) {
                                const std::size_t found = group.find(ending);
                                return found != std::string_view::npos && base::is_digit(group[found + ending.size()]);
                              });
      if (is_place && depth == 0) rest.replace(at, end - at, " ");
    }
  }
  return rest;
}

// A server's line for a request that it answered.
bool is_answered_request(std::string_view line) {
  const bool is_request = line.contains("POST /") || line.contains("GET /") || line.contains("POST  ") ||
                          line.contains("GET  ") || line.contains("POST \"/") || line.contains("GET \"/");
  return is_request && is_whole(line) && (line.contains("\" 200") || line.contains("| 200 |"));
}

// All words are known: what was measured and the figure, or an end that was wanted. Words that the log's own lines have
// are known too.
bool is_harmless(std::string_view last, const std::map<std::string, std::size_t>& said_above, bool came_before) {
  const std::size_t often_enough = came_before ? 1 : 3;
  if (!is_whole(last)) return false;
  std::string plain;  // what stands in quotation marks of code is a name
  bool within = false;
  for (const char letter : last) {
    if (letter == '`') within = !within;
    plain += letter == '`' || within ? ' ' : letter;
  }
  bool has_figure = false, has_measure = false, has_end = false;
  const bool is_all = tells_of_all(plain);
  for (const std::string& word : words_of(with_measured_errors(with_phrases(base::lowered(without_places(plain)))))) {
    const bool is_end = is_any_of(word, good_ends());
    const bool is_measure = is_any_of(word, measures()) || (!is_all && is_any_of(word, used_memory()));
    has_end |= is_end;
    has_figure |= word == kNumber;
    has_measure |= is_measure;
    if (is_end || is_measure || word == kNumber || is_any_of(word, small_words()) || is_any_of(word, things()))
      continue;
    const auto above = said_above.find(word);
    if (above == said_above.end() || above->second < often_enough) return false;
  }
  return has_end || (has_figure && has_measure);
}

// ---- the line -------------------------------------------------------------------------------------------------------

// Rows of tables, and bars of progress that are whole.
bool is_of_table(std::string_view line) {
  if (line.size() > 1 && (line.starts_with('|') || line.starts_with('+')) && line.back() == line.front()) return true;
  return line.contains("%|") && is_whole(line);
}

bool has_words_or_figures(std::string_view line) {
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (is_ascii_letter(line[at]) || base::is_digit(line[at]) || line[at] == '\0' || begins_foreign_letter(line, at))
      return true;
  }
  return false;
}

// "me@box:~/work$": the shell waits, and no program says that.
bool is_prompt(std::string_view line) {
  return (line.ends_with('$') || line.ends_with('#') || line.ends_with('%') || line.ends_with('>')) &&
         (line.contains('@') || line.contains(":\\") || line.starts_with('('));
}

}  // namespace

std::optional<model::SourceLine> find_strange_last_line(const model::TextFile& file) {
  constexpr std::size_t kFewestOfOne = 4;
  std::vector<std::string> lines;
  for (std::string_view left = file.sample; !left.empty();) {
    const std::size_t end = std::min(left.find_first_of("\r\n"), left.size());
    if (has_words_or_figures(left.substr(0, end))) lines.push_back(without_colours(left.substr(0, end)));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  while (!lines.empty() && is_prompt(lines.back())) lines.pop_back();
  if (lines.empty()) return std::nullopt;
  const std::string last = lines.back();
  // What is said over and over at the end, with no figure that goes on, is said once.
  const std::size_t all = lines.size();
  while (!lines.empty() && lines.back() == last) lines.pop_back();
  if (lines.empty() && all >= kFewestOfOne) return std::nullopt;  // nothing else is in it
  if (is_of_table(last) || is_answered_request(last) || is_foreign_end(base::lowered(last))) return std::nullopt;
  std::vector<std::vector<std::string>> above;
  std::map<std::string, std::size_t> said_above;
  for (const std::string& line : lines) {
    above.push_back(words_of(line));
    for (const std::string& word : std::set(above.back().begin(), above.back().end())) ++said_above[word];
  }
  const auto words = words_of(last);
  const bool came_before = std::ranges::find(above, words) != above.end();
  const bool is_cut = !came_before && std::ranges::any_of(above, [&](const auto& line) {
    return line.size() > words.size() && std::ranges::equal(words, line | std::views::take(words.size()));
  });
  if (is_cut) return model::SourceLine{file.name, 0, last};
  if (is_of_log(words, above) || is_harmless(last, said_above, came_before)) return std::nullopt;
  return model::SourceLine{file.name, 0, last};
}

}  // namespace vramfit::doctor
