// What is said to words as a stranger types them: a script without --, without Python or without a verb.
#ifndef VRAMFIT_CLI_FIRST_WORDS_H
#define VRAMFIT_CLI_FIRST_WORDS_H

#include <string>
#include <vector>

namespace vramfit::cli {

// Each word as a shell wants it, with a space before it.
std::string in_shell(const std::vector<std::string>& words);

// The line with the -- that was missing. A script gets the Python that it is run by, and a card where the verb needs
// one.
std::string with_dashes(std::vector<std::string> own, std::vector<std::string> job, bool needs_card);

// What is done with a file that stands where a verb should. Empty: the word is no file.
std::string explain_file(const std::string& word);

}  // namespace vramfit::cli

#endif
