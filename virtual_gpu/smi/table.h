// nvidia-smi without arguments: the table of cards and processes, and the list of cards of -L.
#ifndef VRAMFIT_VIRTUAL_GPU_SMI_TABLE_H
#define VRAMFIT_VIRTUAL_GPU_SMI_TABLE_H

#include <string>

#include "virtual_gpu/smi/card.h"

namespace vramfit::smi {

std::string table(const Machine& machine, const std::string& date);
std::string list(const Machine& machine);

}  // namespace vramfit::smi

#endif
