// nvidia-smi --query-gpu=... and --query-compute-apps=... --format=csv[,noheader][,nounits].
#ifndef VRAMFIT_VIRTUAL_GPU_SMI_CSV_H
#define VRAMFIT_VIRTUAL_GPU_SMI_CSV_H

#include <string>
#include <vector>

#include "virtual_gpu/smi/card.h"

namespace vramfit::smi {

struct CsvForm {
  bool header = true, units = true;
};

// The first of `fields` that the real tool has no property of this name for; empty: all are known.
std::string unknown_gpu_field(const std::vector<std::string>& fields);
std::string unknown_process_field(const std::vector<std::string>& fields);

// One line for each card, or for each process of each card. What a card does not have reads "[N/A]".
std::string gpu_csv(const Machine& machine, const std::vector<std::string>& fields, const CsvForm& form);
std::string process_csv(const Machine& machine, const std::vector<std::string>& fields, const CsvForm& form);

// One line for each property, for --help-query-gpu.
std::string gpu_fields_help();

}  // namespace vramfit::smi

#endif
