#include "ingest/text/program_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "ingest/text/cursor.h"

namespace vramfit::ingest {
namespace {

constexpr std::size_t kJudgedOfProgram = 64 << 10;
constexpr std::string_view kOutputOfCell = "\"output_type\"";

enum class Token { kName, kNumber, kString, kKeyword, kOpen, kClose, kColon, kIs, kOther };

struct Statement {
  std::vector<Token> tokens;
  std::string_view first;  // its first word or sign
  bool has_in = false, has_import = false;
  std::size_t end = 0;  // where the next one begins
};

// Words that stand between two values, or before one.
bool is_keyword(std::string_view word) {
  static constexpr auto kKeywords = std::to_array<std::string_view>(
      {"and",    "as",     "assert", "async",  "await",  "break", "case",     "class", "continue", "def",
       "del",    "elif",   "else",   "exec",   "except", "for",   "finally",  "from",  "global",   "if",
       "import", "in",     "is",     "lambda", "match",  "not",   "nonlocal", "or",    "pass",     "print",
       "raise",  "return", "try",    "type",   "while",  "with",  "yield"});
  return std::ranges::find(kKeywords, word) != kKeywords.end();
}

bool is_of_name(char letter) { return is_word(letter) || (static_cast<unsigned char>(letter) & 0x80) != 0; }
bool is_value(Token token) {
  return token == Token::kName || token == Token::kNumber || token == Token::kString || token == Token::kClose;
}

// Reads one statement, with all lines that its brackets and strings span. Nothing where it is none of Python's: two
// values without a sign between them, a string or a bracket that nobody closes.
class StatementReader {
 public:
  StatementReader(std::string_view text, std::size_t begin) : text_(text), at_(begin) {}

  std::optional<Statement> read() {
    while (at_ < text_.size()) {
      const char letter = text_[at_];
      if (letter == '\n' && open_.empty()) break;
      if (!take(letter)) return std::nullopt;
    }
    goes_on_ = !open_.empty();
    if (goes_on_) return std::nullopt;
    statement_.end = std::min(at_ + 1, text_.size());
    return std::move(statement_);
  }

  // Whether the text ended within a bracket or a string of several lines.
  bool goes_on() const { return goes_on_; }

 private:
  bool take(char letter) {
    if (is_blank(letter) || letter == '\n' || letter == '\r' || letter == '\f') {
      ++at_;
      return true;
    }
    if (letter == '\\') {
      at_ += text_.substr(at_ + 1, 1) == "\r" ? 3 : 2;
      return at_ > text_.size() || text_[at_ - 1] == '\n';
    }
    if (letter == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return true;
    }
    if (letter == '"' || letter == '\'') return take_string();
    if (is_digit(letter) || (letter == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) return take_number();
    if (is_of_name(letter)) return take_name();
    return take_sign(letter);
  }

  bool put(Token token, std::string_view word) {
    if (statement_.tokens.empty()) statement_.first = word;
    const Token last = statement_.tokens.empty() ? Token::kOther : statement_.tokens.back();
    const bool joins = token == Token::kString && last == Token::kString;  // "a" "b" is one
    if (is_value(last) && (token == Token::kName || token == Token::kNumber || token == Token::kString) && !joins)
      return false;
    statement_.tokens.push_back(token);
    return true;
  }

  bool take_string() {
    const char quote = text_[at_];
    const std::string thrice(3, quote);
    const bool is_long = text_.substr(at_).starts_with(thrice);
    const std::size_t begin = at_;
    at_ += is_long ? 3 : 1;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (!is_long && text_[at_] == '\n') {
        return false;
      } else if (is_long ? text_.substr(at_).starts_with(thrice) : text_[at_] == quote) {
        at_ += is_long ? 3 : 1;
        return put(Token::kString, text_.substr(begin, 1));
      }
    }
    goes_on_ = is_long;
    return false;
  }

  bool take_number() {
    const std::size_t begin = at_;
    while (at_ < text_.size()) {
      const bool is_sign = (text_[at_] == '-' || text_[at_] == '+') && lower(text_[at_ - 1]) == 'e' && at_ > begin;
      if (!is_word(text_[at_]) && text_[at_] != '.' && !is_sign) break;
      ++at_;
    }
    return put(Token::kNumber, text_.substr(begin, at_ - begin));
  }

  bool take_name() {
    constexpr std::size_t kLongestPrefix = 2;  // rb"..."
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_of_name(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    const bool is_before_string = at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'');
    if (is_before_string && word.size() <= kLongestPrefix) return take_string();
    statement_.has_in |= word == "in";
    statement_.has_import |= word == "import";
    return put(is_keyword(word) ? Token::kKeyword : Token::kName, word);
  }

  bool take_sign(char letter) {
    const std::string_view word = text_.substr(at_, 1);
    ++at_;
    if (std::string_view("([{").contains(letter)) {
      open_ += letter;
      // A block of another language, or of a shell
      if (letter == '{' && !statement_.tokens.empty() && is_value(statement_.tokens.back())) return false;
      return put(Token::kOpen, word);
    }
    if (std::string_view(")]}").contains(letter)) {
      const std::size_t kind = std::string_view(")]}").find(letter);
      if (open_.empty() || open_.back() != "([{"[kind]) return false;
      open_.pop_back();
      return put(Token::kClose, word);
    }
    if (letter == '!' && text_.substr(at_, 1) != "=") return false;
    if (!std::string_view("+-*/%@&|^~<>=!.,:;").contains(letter)) return false;
    if (letter == ':' && open_.empty()) return put(Token::kColon, word);
    const bool is_compared = letter == '=' && (text_.substr(at_, 1) == "=" ||
                                               std::string_view("=!<>:").contains(at_ > 1 ? text_[at_ - 2] : ' '));
    return put(letter == '=' && open_.empty() && !is_compared ? Token::kIs : Token::kOther, word);
  }

  std::string_view text_;
  std::size_t at_;
  std::string open_;  // brackets, the innermost last
  Statement statement_;
  bool goes_on_ = false;
};

enum class StatementKind { kOther, kStatement, kStructure };  // structure: what stands in no log and in no settings

StatementKind judge_statement(const Statement& statement) {
  const auto& tokens = statement.tokens;
  const std::string_view first = statement.first;
  const auto is = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, first) != words.end();
  };
  const bool has_colon = std::ranges::find(tokens, Token::kColon) != tokens.end();
  if (is({"import", "@"})) return tokens.size() > 1 ? StatementKind::kStructure : StatementKind::kOther;
  if (first == "from") return statement.has_import ? StatementKind::kStructure : StatementKind::kOther;
  if (first == "for") return has_colon && statement.has_in ? StatementKind::kStructure : StatementKind::kOther;
  if (is({"def", "class", "while", "with", "async"}))
    return has_colon ? StatementKind::kStructure : StatementKind::kOther;
  if (is({"if", "elif", "else", "try", "except", "finally", "case", "match"}))
    return has_colon ? StatementKind::kStatement : StatementKind::kOther;
  if (is_keyword(first)) return StatementKind::kStatement;
  const auto equals = std::ranges::find(tokens, Token::kIs);
  if (equals != tokens.end()) {
    const bool is_target =
        equals != tokens.begin() &&
        std::none_of(tokens.begin(), equals,
                     [](Token token) { return token == Token::kKeyword || token == Token::kString; }) &&
        tokens.front() != Token::kNumber;
    return is_target ? StatementKind::kStatement : StatementKind::kOther;
  }
  const bool is_call = tokens.front() == Token::kName && tokens.back() == Token::kClose && !has_colon;
  return is_call ? StatementKind::kStatement : StatementKind::kOther;
}

// Magic of notebooks and calls of the shell there: "%matplotlib inline", "!pip install".
bool is_magic(std::string_view line) { return line.starts_with('%') || line.starts_with('!'); }

bool is_python(std::string_view text, bool is_whole) {
  constexpr std::int64_t kFewest = 2, kMostLost = 20;
  constexpr std::int64_t kOfThese = 50;  // for each line that was not understood: a release may have new words
  std::int64_t statements = 0, structures = 0, others = 0, lost = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t line_end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trim(text.substr(at, line_end - at));
    if (line.empty() || line.starts_with('#') || is_magic(line)) {
      at = line_end + 1;
      continue;
    }
    StatementReader reader(text, at);
    const auto statement = reader.read();
    if (!is_whole && reader.goes_on()) break;  // behind what is judged
    if (!statement || statement->tokens.empty()) {
      if (++lost > kMostLost) return false;
      at = line_end + 1;
      continue;
    }
    at = statement->end;
    const StatementKind kind = judge_statement(*statement);
    statements += kind == StatementKind::kOther ? 0 : 1;
    structures += kind == StatementKind::kStructure ? 1 : 0;
    // A text of its own tells what the code is for.
    const bool is_docstring = std::ranges::all_of(statement->tokens, [](Token one) { return one == Token::kString; });
    others += kind == StatementKind::kOther && !is_docstring ? 1 : 0;
  }
  return structures > 0 && statements >= kFewest && lost * kOfThese <= statements && others * 2 <= statements;
}

bool begins_with_any(std::string_view line, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return line.starts_with(word); });
}

// What a declaration begins with in C++, CUDA, Java, Kotlin, Go, Rust, Swift, JavaScript, Julia, MATLAB, Lua and Ruby.
bool declares(std::string_view line) {
  return begins_with_any(
      line, {"#include", "package ", "import ", "using ",  "use ",    "func ",    "fn ",       "pub ",
             "public ",  "private ", "class ",  "struct ", "static ", "void ",    "int ",      "float ",
             "double ",  "auto ",    "const ",  "let ",    "var ",    "val ",     "fun ",      "impl ",
             "mod ",     "module ",  "extern ", "local ",  "enum ",   "unsafe ",  "template",  "namespace ",
             "function", "export ",  "async ",  "def ",    "end",     "typedef ", "__global__"});
}

// "losses = push(losses, loss)", "x := f(y)", "total += 1": a name, and what it is set to.
bool sets_a_name(std::string_view line) {
  std::size_t at = 0;
  while (at < line.size() && (is_word(line[at]) || std::string_view(".[]()").contains(line[at]))) ++at;
  if (at == 0 || is_digit(line[0])) return false;
  const std::string_view behind = trim(line.substr(at));
  return begins_with_any(behind, {"= ", ":= ", "+= ", "-= ", "*= ", ".= "});
}

bool is_line_of_other_language(std::string_view line) {
  static constexpr std::string_view kLastSigns = ";{}()[],>|&+=\\";
  return kLastSigns.contains(line.back()) || declares(line) || sets_a_name(line) ||
         begins_with_any(
             line, {"return", "for ",   "while ", "if ",   "else", "elseif ", "switch ", "case ", "break",  "@",
                    "}",      "defer ", "go ",    "throw", "try",  "catch",   "#define", "#if",   "#endif", "#pragma"});
}

// A block that is opened and closed, a declaration, and hardly a line that is none of a program's.
bool is_other_language(std::string_view text) {
  constexpr std::size_t kFewest = 3, kOfThese = 20;
  std::size_t lines = 0, others = 0, declared = 0, opened = 0, closed = 0, ends = 0;
  bool in_comment = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line = trim(line.substr(0, line.size() - 1));
    if (line.starts_with("/*")) in_comment = true;
    const bool is_comment =
        in_comment || begins_with_any(line, {"//", "%", "--", "*"}) ||
        (line.starts_with('#') && !begins_with_any(line, {"#include", "#define", "#if", "#pragma"}));
    if (line.contains("*/")) in_comment = false;
    if (is_comment || line.empty()) continue;
    if (const std::size_t behind = line.find(" //"); behind != std::string_view::npos)
      line = trim(line.substr(0, behind));
    if (line.empty()) continue;
    ++lines;
    others += is_line_of_other_language(line) ? 0 : 1;
    declared += declares(line) ? 1 : 0;
    opened += line.ends_with('{') ? 1 : 0;
    closed += line.starts_with('}') ? 1 : 0;
    ends += line == "end" || line == "end;" ? 1 : 0;
  }
  const bool has_blocks = (opened > 0 && closed > 0) || ends > 0;
  return lines >= kFewest && declared > ends && has_blocks && others * kOfThese <= lines;
}

}  // namespace

void ProgramText::add(std::string_view block) {
  const std::string joint = joint_ + std::string(block.substr(0, kOutputOfCell.size()));
  has_output_ = has_output_ || block.contains(kOutputOfCell) || joint.contains(kOutputOfCell);
  joint_ = block.substr(block.size() - std::min(block.size(), kOutputOfCell.size()));
  const std::size_t room = kJudgedOfProgram - first_.size();
  is_whole_ = is_whole_ && block.size() <= room;
  first_ += block.substr(0, room);
}

model::ProgramIn ProgramText::judge() const {
  const std::string_view text = trim(first_);
  if (text.starts_with('{') && text.contains("\"cells\"") && text.contains("\"cell_type\""))
    return has_output_ ? model::ProgramIn::kNone : model::ProgramIn::kNotebook;
  if (is_python(first_, is_whole_)) return model::ProgramIn::kPython;
  return is_other_language(first_) ? model::ProgramIn::kOther : model::ProgramIn::kNone;
}

}  // namespace vramfit::ingest
