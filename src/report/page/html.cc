#include "report/page/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace vramfit::report::page {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Decoded {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
};

// The character at the front of `text`, by RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
std::optional<Decoded> decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return Decoded{first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return std::nullopt;
  std::uint32_t code = first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return std::nullopt;
    code = (code << 6) | (byte(i) & 0x3Fu);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (overlong || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return std::nullopt;
  return Decoded{code, length};
}

// Control characters, non-characters that HTML refuses, and what changes the direction of text (Trojan Source,
// CVE-2021-42574).
bool is_shown_as_it_is(std::uint32_t code) {
  if (code < 0x20) return code == '\n' || code == '\t';
  if (code >= 0x7F && code < 0xA0) return false;
  if ((code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069)) return false;
  return (code & 0xFFFE) != 0xFFFE;
}

std::string_view entity(char character) {
  switch (character) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

}  // namespace

std::string escape(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const auto decoded = decode(text);
    const std::size_t bytes = decoded ? decoded->bytes : 1;
    const std::string_view known = bytes == 1 ? entity(text.front()) : std::string_view{};
    if (!known.empty()) {
      safe += known;
    } else {
      safe += decoded && is_shown_as_it_is(decoded->code) ? text.substr(0, bytes) : kReplacement;
    }
    text.remove_prefix(bytes);
  }
  return safe;
}

std::string heading(int level, std::string_view text) { return fmt::format("<h{0}>{1}</h{0}>\n", level, escape(text)); }

std::string paragraph(std::string_view text, std::string_view css_class) {
  if (text.empty()) return "";
  if (css_class.empty()) return fmt::format("<p>{}</p>\n", escape(text));
  return fmt::format("<p class=\"{}\">{}</p>\n", css_class, escape(text));
}

std::string table(std::string_view caption, const std::vector<TableColumn>& columns,
                  const std::vector<std::vector<std::string>>& rows) {
  // On a telephone each row of a wide one stands as a list of its own, every value behind its heading. The roles say
  // that it is a table still.
  constexpr std::size_t kMostSideBySide = 5;
  const bool is_wide = columns.size() > kMostSideBySide;
  const auto role = [&](std::string_view name) { return is_wide ? fmt::format(" role=\"{}\"", name) : std::string(); };
  std::string html = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{0}\"><table{1}><caption>{0}</caption>\n"
      "<thead{2}><tr{3}>",
      escape(caption), is_wide ? " class=\"wide\" role=\"table\"" : "", role("rowgroup"), role("row"));
  const auto number_class = [&](std::size_t i) {
    return i < columns.size() && columns[i].is_number ? " class=\"number\"" : "";
  };
  for (std::size_t i = 0; i < columns.size(); ++i) {
    html +=
        fmt::format("<th scope=\"col\"{}{}>{}</th>", number_class(i), role("columnheader"), escape(columns[i].title));
  }
  html += fmt::format("</tr></thead>\n<tbody{}>\n", role("rowgroup"));
  const auto heading_of = [&](std::size_t i) {
    return is_wide && i < columns.size() ? fmt::format(" data-heading=\"{}\"", escape(columns[i].title))
                                         : std::string();
  };
  for (const auto& row : rows) {
    html += fmt::format("<tr{}>", role("row"));
    for (std::size_t i = 0; i < row.size(); ++i) {
      html += i == 0 ? fmt::format("<th scope=\"row\"{}{}{}>{}</th>", number_class(i), role("rowheader"), heading_of(i),
                                   row[i])
                     : fmt::format("<td{}{}{}>{}</td>", number_class(i), role("cell"), heading_of(i), row[i]);
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string details(std::string_view summary, std::string_view html) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", escape(summary), html);
}

std::string list(const std::vector<std::string>& items) {
  if (items.empty()) return "";
  std::string html = "<ul>\n";
  for (const std::string& item : items) html += fmt::format("<li>{}</li>\n", escape(item));
  return html + "</ul>\n";
}

std::string zoom_buttons() {
  return "<button type=\"button\" data-zoom=\"in\">zoom in</button>"
         "<button type=\"button\" data-zoom=\"out\">zoom out</button>"
         "<button type=\"button\" data-zoom=\"left\">earlier</button>"
         "<button type=\"button\" data-zoom=\"right\">later</button>"
         "<button type=\"button\" data-zoom=\"all\">all</button>";
}

std::string words_of(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '_', ' ');
  return text;
}

}  // namespace vramfit::report::page
