#include "ingest/toml_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>
#include <vector>

namespace vramfit::ingest {
namespace {

constexpr char kEscape = '%';  // in no bare key and no bare value
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_control(char letter) {
  const auto code = static_cast<unsigned char>(letter);
  return (code < 0x20 && letter != '\t' && letter != '\n' && letter != '\r') || code == 0x7F;
}

bool is_foreign(char letter) { return static_cast<unsigned char>(letter) >= 0x80; }

int line_of(std::string_view text, std::size_t at) {
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, at), '\n'));
}

std::string_view line_at(std::string_view text, int line) {
  for (; line > 1; --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find('\n'));
}

std::string encode(std::string_view text) {
  std::string encoded;
  encoded.reserve(text.size() + text.size() / 4);
  for (const char letter : text) {
    if (is_foreign(letter) || letter == kEscape) {
      encoded += fmt::format("{}{:02X}", kEscape, static_cast<unsigned char>(letter));
    } else {
      encoded += letter;
    }
  }
  return encoded;
}

std::string decode(std::string_view text) {
  std::string decoded;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned code = 0;
    const std::string_view digits = text.substr(std::min(at + 1, text.size()), 2);
    const bool is_escape = text[at] == kEscape && digits.size() == 2 &&
                           std::from_chars(digits.data(), digits.data() + 2, code, 16).ptr == digits.data() + 2;
    decoded += is_escape ? static_cast<char>(code) : text[at];
    if (is_escape) at += 2;
  }
  return decoded;
}

void decode_in(toml::node& node) {
  if (auto* text = node.as_string()) {
    text->get() = decode(text->get());
  } else if (auto* list = node.as_array()) {
    for (toml::node& element : *list) decode_in(element);
  } else if (auto* table = node.as_table()) {
    std::vector<std::string> renamed;
    for (auto&& [key, value] : *table) {
      decode_in(value);
      if (key.str().contains(kEscape)) renamed.emplace_back(key.str());
    }
    for (const std::string& key : renamed) {  // a node that is moved keeps its line
      table->at(key).visit([&](auto& value) { table->insert_or_assign(decode(key), std::move(value)); });
      table->erase(key);
    }
  }
}

}  // namespace

std::expected<toml::table, TomlError> read_toml(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (const auto control = std::ranges::find_if(text, is_control); control != text.end()) {
    return std::unexpected(
        TomlError{"a control character", line_of(text, static_cast<std::size_t>(control - text.begin()))});
  }
  const bool is_ascii = std::ranges::none_of(text, is_foreign);
  try {
    toml::table root = is_ascii ? toml::parse(text) : toml::parse(encode(text));
    if (!is_ascii) decode_in(root);
    return root;
  } catch (const toml::parse_error& problem) {
    const int line = static_cast<int>(problem.source().begin.line);
    const bool is_of_ours = std::ranges::any_of(line_at(text, line), is_foreign);
    return std::unexpected(
        TomlError{is_of_ours ? "a letter outside ASCII that is not in quotes, or something else that is no TOML"
                             : std::string(problem.description()),
                  line});
  }
}

}  // namespace vramfit::ingest
