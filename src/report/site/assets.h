// The style and scripts of the local page, from assets/.
#ifndef VRAMFIT_REPORT_SITE_ASSETS_H
#define VRAMFIT_REPORT_SITE_ASSETS_H

#include <string_view>

namespace vramfit::report::site {

extern const std::string_view kSiteStyle;
extern const std::string_view kIndexScript;
extern const std::string_view kLiveScript;

}  // namespace vramfit::report::site

#endif
