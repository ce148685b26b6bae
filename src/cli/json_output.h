// Where a verb's JSON goes: into a file, or with --json - to stdout, which then is for it alone.
#ifndef VRAMFIT_CLI_JSON_OUTPUT_H
#define VRAMFIT_CLI_JSON_OUTPUT_H

#include <string>

#include "base/error.h"

namespace vramfit::cli {

// Made before anything is printed or started. With "-" whatever the verb or a job of it prints to stdout goes to
// stderr from then on, so that what reads stdout gets nothing but the JSON.
class JsonOutput {
 public:
  explicit JsonOutput(std::string file);
  ~JsonOutput();
  JsonOutput(const JsonOutput&) = delete;
  JsonOutput& operator=(const JsonOutput&) = delete;
  base::Result<void> write(const std::string& json);

 private:
  std::string file_;     // empty: none was asked for
  int own_stdout_ = -1;  // the real one, where it is for the JSON
};

}  // namespace vramfit::cli

#endif
