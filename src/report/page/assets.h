// The page's style and script, from assets/.
#ifndef VRAMFIT_REPORT_PAGE_ASSETS_H
#define VRAMFIT_REPORT_PAGE_ASSETS_H

#include <string_view>

namespace vramfit::report::page {

extern const std::string_view kStyle;
extern const std::string_view kScript, kScriptEnd;  // one after the other

}  // namespace vramfit::report::page

#endif
