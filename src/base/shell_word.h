// Words as a POSIX shell reads them back.
#ifndef VRAMFIT_BASE_SHELL_WORD_H
#define VRAMFIT_BASE_SHELL_WORD_H

#include <string>
#include <string_view>

namespace vramfit::base {

// The word in single quotes, whatever it holds.
std::string in_single_quotes(std::string_view word);

// The word in quotes only where it needs them.
std::string quote_for_shell(std::string_view word);

}  // namespace vramfit::base

#endif
