#include "report/site/site_page.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "report/page/assets.h"
#include "report/page/html.h"
#include "report/site/assets.h"

namespace vramfit::report::site {

using page::escape;

std::string site_page_to_html(const SitePage& page, std::string_view version) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"/assets/site.css\">\n",
      escape(page.title));
  if (!page.script.empty()) html += fmt::format("<script src=\"{}\" defer></script>\n", escape(page.script));
  html += "</head>\n<body>\n";
  if (!page.is_index) html += "<nav aria-label=\"History\" class=\"history\"><a href=\"/\">All runs</a></nav>\n";
  return html + fmt::format(
                    "<main>\n<h1>{}</h1>\n{}</main>\n<footer><p>vramfit {}, on this machine; the page only "
                    "reads.</p></footer>\n</body>\n</html>\n",
                    escape(page.title), page.body, escape(version));
}

std::string site_style() { return fmt::format("{}\n{}", page::kStyle, kSiteStyle); }

std::string time_html(std::int64_t ms) {
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm local{}, utc{};
  ::localtime_r(&seconds, &local);
  ::gmtime_r(&seconds, &utc);
  return fmt::format("<time datetime=\"{:%Y-%m-%dT%H:%M:%S}Z\">{:%Y-%m-%d %H:%M}</time>", utc, local);
}

std::string message_page(std::string_view title, std::string_view text, std::string_view version) {
  return site_page_to_html({.title = std::string(title), .script = {}, .body = page::paragraph(text)}, version);
}

}  // namespace vramfit::report::site
