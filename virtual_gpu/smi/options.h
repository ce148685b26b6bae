// The command line of nvidia-smi, as far as scripts use it to ask.
#ifndef VRAMFIT_VIRTUAL_GPU_SMI_OPTIONS_H
#define VRAMFIT_VIRTUAL_GPU_SMI_OPTIONS_H

#include <optional>
#include <string>
#include <vector>

#include "virtual_gpu/smi/csv.h"

namespace vramfit::smi {

enum class Ask { kTable, kList, kReport, kGpuCsv, kProcessCsv, kHelp, kFieldsHelp, kVersion };

// The real tool's exit codes (its manual, "RETURN VALUE").
enum Exit : int {
  kDone = 0,
  kInvalidArgument = 2,
  kNotAvailable = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kNoDriver = 9,
  kGpuLost = 15
};

struct Options {
  Ask ask = Ask::kTable;
  bool xml = false;
  std::vector<std::string> fields;    // of a CSV
  std::vector<std::string> displays;  // of -d
  std::vector<std::string> cards;     // of -i: index, UUID or bus id
  CsvForm form;
  std::optional<long> every_ms;  // of -l and -lms
  std::string file;              // of -f
};

struct Parsed {
  Options options;
  int exit = kDone;
  std::string problem;       // what to print when `exit` isn't kDone
  std::string not_modelled;  // a part of the real tool that nobody modelled: for the result of the run
};

Parsed parse_options(const std::vector<std::string>& arguments);

// Splits at commas, without blanks around the pieces.
std::vector<std::string> split_list(const std::string& text);

}  // namespace vramfit::smi

#endif
