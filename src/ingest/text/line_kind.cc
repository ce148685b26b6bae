#include "ingest/text/line_kind.h"

#include <algorithm>
#include <array>

#include "ingest/text/cursor.h"

namespace vramfit::ingest {
namespace {

constexpr std::size_t kFewestWords = 3;
constexpr std::size_t kFewWords = 9;  // so few need one word of grammar, more need two

// What holds sentences together, and tables, logs and code have not.
bool is_grammar(std::string_view word) {
  static constexpr auto kGrammar = std::to_array<std::string_view>(
      {"the",     "a",     "an",    "is",     "are",   "was",   "were",  "be",    "been",   "it",      "its",  "this",
       "that",    "i",     "my",    "we",     "our",   "you",   "your",  "he",    "they",   "to",      "of",   "in",
       "on",      "at",    "for",   "with",   "when",  "after", "every", "each",  "per",    "until",   "till", "and",
       "but",     "or",    "so",    "if",     "as",    "from",  "by",    "has",   "have",   "had",     "do",   "does",
       "did",     "not",   "no",    "any",    "some",  "there", "then",  "than",  "what",   "why",     "how",  "which",
       "can",     "will",  "would", "should", "could", "may",   "might", "while", "before", "because", "only", "all",
       "doesn't", "don't", "can't", "it's",   "i'm",   "i've",  "keeps", "goes"});
  return std::ranges::find(kGrammar, word) != kGrammar.end();
}

bool is_of_word(char letter) { return is_word(letter) || letter == '\'' || static_cast<unsigned char>(letter) >= 0x80; }
// Within a word: "expandable_segments", "v1.2", "out-of-memory", "train.py".
bool joins_words(std::string_view text, std::size_t at) {
  return (text[at] == '.' || text[at] == '-' || text[at] == '/' || text[at] == '(') && at > 0 &&
         is_of_word(text[at - 1]) && at + 1 < text.size() && is_of_word(text[at + 1]);
}

bool is_identifier(std::string_view word) {
  return !word.empty() && (is_letter(word[0]) || word[0] == '_') && std::ranges::all_of(word, [](char letter) {
    return is_word(letter) || letter == '.' || letter == '[' || letter == ']' || letter == '\'' || letter == '"' ||
           letter == ',' || letter == '*';
  });
}

// "x += y", "a, b = f(c)", "os.environ['A'] = 'b'"
bool is_assignment(std::string_view line) {
  for (const std::string_view sign : {" = ", " += ", " -= ", " *= ", " := ", " == "}) {
    const std::size_t at = line.find(sign);
    if (at == kNowhere) continue;
    std::string left(line.substr(0, at));
    std::erase(left, ' ');
    const std::size_t blanks = static_cast<std::size_t>(std::ranges::count(line.substr(0, at), ' '));
    if (is_identifier(left) && blanks < 3 && (blanks == 0 || left.contains(','))) return true;
  }
  return false;
}

// An entry of a list; an error that somebody quotes has no comma behind it.
bool is_quoted(std::string_view line) {
  if (line.size() < 4 || (line[0] != '"' && line[0] != '\'') || !line.ends_with(',')) return false;
  while (!line.empty() && std::string_view(",)]}").contains(line.back())) line.remove_suffix(1);
  return line.size() > 1 && line.back() == line[0];
}

// "torch.cuda.empty_cache()", "print(x)": a call and nothing else.
bool is_call(std::string_view line) {
  const std::size_t open = line.find('(');
  if (open == kNowhere || open == 0 || !is_identifier(line.substr(0, open))) return false;
  // "OutOfMemoryError('...')" is an error, printed.
  if (line.substr(0, open).ends_with("Error") || line.substr(0, open).ends_with("Exception")) return false;
  return line.ends_with(')') || line.ends_with("):") || line.ends_with(");") || line.ends_with('(') ||
         line.ends_with("),") || line.ends_with(") {");
}

// "BufferPool: reserved 5 MiB": a name of a class or a file before what it says.
bool is_of_program(std::string_view line) {
  for (const std::string_view level : {"LOG (", "INFO (", "WARNING (", "ERROR (", "VLOG[", "DEBUG ("}) {
    if (line.starts_with(level)) return true;  // Kaldi's
  }
  const std::string_view name = line.substr(0, line.find(": "));
  if (name.size() == line.size() || name.contains(' ')) return false;
  for (const std::string_view later : {"EDIT", "UPDATE", "PS", "NOTE", "TLDR", "FYI", "SOLVED"}) {
    if (name == later) return false;  // what the writer added
  }
  return name.contains('_') || name.contains('.') || name.contains("::") ||
         std::ranges::count_if(name, [](char letter) { return letter >= 'A' && letter <= 'Z'; }) >= 2;
}

// "Epoch 1:  50%|#####     | 500/1000 [00:10<00:10, 50.00it/s, loss=0.5]": many of them in a line have words enough to
// pass for sentences.
bool has_progress_bar(std::string_view line) {
  return line.contains("%|") && (line.contains("it/s") || line.contains("s/it"));
}

}  // namespace

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto keep = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at).starts_with("\xef\xbc\x8c") || text.substr(at).starts_with("\xe3\x80\x81")) {
      keep();  // commas of Chinese and Japanese
      words.emplace_back(",");
      at += 2;
    } else if (text.substr(at).starts_with("\xe2\x80\x99")) {  // the apostrophe of typesetters
      word += '\'';
      at += 2;
    } else if (is_of_word(text[at]) || joins_words(text, at)) {
      word += lower(text[at]);
    } else {
      keep();
      if (std::string_view(",;:()").contains(text[at])) words.emplace_back(",");
    }
  }
  keep();
  return words;
}

std::string_view without_bullet(std::string_view line) {
  std::string_view text = trim(line);
  for (bool again = true; again && !text.empty();) {
    again = false;
    Cursor cursor(text);
    if (cursor.take("- [x]") || cursor.take("- [ ]") || cursor.take("- [X]")) again = true;
    if (!again && !cursor.take_while([](char letter) { return std::string_view("#>*-+").contains(letter); }).empty())
      again = is_blank(cursor.peek()) || cursor.peek() == '*' || is_letter(cursor.peek());
    if (!again && is_digit(text[0])) {
      cursor = Cursor(text);
      cursor.take_while(is_digit);
      again = cursor.take(". ") || cursor.take(") ");
    }
    if (again) text = trim(cursor.rest());
  }
  return text;
}

bool is_code(std::string_view raw) {
  std::string_view line = trim(raw);
  if ((line.starts_with('+') || line.starts_with('-')) && line.size() > 1 && line[1] != '-')
    line = trim(line.substr(1));
  if (line.empty()) return false;
  for (const std::string_view begin :
       {"def ",  "class ", "import ", "raise ",     "except ", "except:",    "return ", "assert ",
        "elif ", "try:",   "else:",   "#include",   "//",      "\"\"\"",     "'''",     "catch (",
        "if (",  "for (",  "while (", "async def ", "export ", "TORCH_CHECK"}) {
    if (line.starts_with(begin) && !line.starts_with("return code")) return true;
  }
  if (line.starts_with('@') && !line.contains(' ')) return true;  // "@torch.no_grad()", and not "@user I see it too"
  if (line.starts_with("from ") && line.contains(" import ")) return true;
  const bool opens_block = line.ends_with(':') || line.ends_with('{');
  if (opens_block &&
      (line.starts_with("if ") || line.starts_with("for ") || line.starts_with("while ") || line.starts_with("with ")))
    return true;
  if (line.starts_with("if ") && line.contains(" in str(")) return true;
  if (line.starts_with("--") || line.ends_with('\\')) return true;
  return is_quoted(line) || is_assignment(line) || is_call(line) || line.ends_with("};") || line.ends_with(");");
}

bool is_error_line(std::string_view raw) {
  const std::string_view line = without_bullet(raw);
  const std::string_view head = line.substr(0, line.find(": "));
  if (head.size() == line.size() && !line.ends_with(':')) return false;
  if (head.contains(' ')) {
    for (const std::string_view kind : {"RuntimeError", "Error", "Exception"}) {
      if (head.ends_with(kind) && std::ranges::count(head, ' ') < 2) return true;
    }
    return line.starts_with("Caused by") || line.starts_with("terminate called");
  }
  for (const std::string_view kind : {"error", "exception", "warning", "fatal", "warn", "info", "debug"}) {
    if (contains_ignoring_case(head, kind)) return true;
    if (contains_ignoring_case(line.substr(0, 60), std::string(": ") + std::string(kind) + ":")) return true;
  }
  return false;
}

bool is_prose(std::string_view raw) {
  const std::string_view line = without_bullet(raw);
  if (is_code(line) || is_error_line(line) || line.starts_with('|') || line.starts_with("File \"") ||
      line.starts_with("[") || line.starts_with("{") || line.starts_with("$ ") || has_progress_bar(line))
    return false;
  std::size_t words = 0, grammar = 0, letters = 0;
  bool is_foreign = false;
  for (const std::string& word : split_words(line)) {
    if (word == ",") continue;
    const bool is_spelled =
        std::ranges::all_of(word, [](char letter) { return is_letter(letter) || letter == '\'' || letter == '-'; });
    words += is_spelled ? 1 : 0;
    letters += is_spelled ? word.size() + 1 : 0;
    grammar += is_grammar(word) ? 1 : 0;
  }
  for (std::size_t i = 0; i + 2 < line.size();
       ++i) {  // letters of other scripts, not boxes and bars (U+2000 to U+2FFF)
    const auto byte = static_cast<unsigned char>(line[i]);
    is_foreign |= (byte >= 0xc3 && byte <= 0xdf) || (byte >= 0xe3 && byte <= 0xed);
  }
  if (is_foreign && line.size() > 12) return true;
  if (words >= 2 && line.ends_with('?')) return true;
  if (words < kFewestWords || is_of_program(line)) return false;
  // A title of words alone: "Training uses far more memory than before"
  const bool is_title = words >= 4 && letters + 1 >= line.size();
  return is_title || (grammar >= (words < kFewWords ? 1u : 2u) && letters * 2 >= line.size());
}

}  // namespace vramfit::ingest
