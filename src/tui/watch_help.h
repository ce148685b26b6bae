// What the keys of the view do and what its marks mean, in lines of at most 79 columns: for the view itself and --help.
#ifndef VRAMFIT_TUI_WATCH_HELP_H
#define VRAMFIT_TUI_WATCH_HELP_H

#include <string>
#include <vector>

namespace vramfit::tui {

std::vector<std::string> key_lines();
// Marks are those that are drawn with Unicode, or those without.
std::vector<std::string> mark_lines(bool unicode);

}  // namespace vramfit::tui

#endif
