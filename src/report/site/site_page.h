// What all pages of `vramfit serve` have around them. They load their style and script from the server itself.
#ifndef VRAMFIT_REPORT_SITE_SITE_PAGE_H
#define VRAMFIT_REPORT_SITE_SITE_PAGE_H

#include <string>
#include <string_view>

namespace vramfit::report::site {

struct SitePage {
  std::string title;   // plain text
  std::string script;  // path of its script; empty: none
  std::string body;    // HTML, within <main>
  bool is_index = false;
};
std::string site_page_to_html(const SitePage& page, std::string_view version);

// The style of these pages: that of reports, and their own.
std::string site_style();

// "2026-11-21 13:50", marked as a time. This machine's zone.
std::string time_html(std::int64_t ms);

// A page with one sentence: what is wrong, what to do.
std::string message_page(std::string_view title, std::string_view text, std::string_view version);

}  // namespace vramfit::report::site

#endif
