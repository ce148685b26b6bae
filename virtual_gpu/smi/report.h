// nvidia-smi -q [-d SECTIONS] [-x]: everything that is known of each card, as indented text or as XML.
#ifndef VRAMFIT_VIRTUAL_GPU_SMI_REPORT_H
#define VRAMFIT_VIRTUAL_GPU_SMI_REPORT_H

#include <string>
#include <vector>

#include "virtual_gpu/smi/card.h"

namespace vramfit::smi {

// `displays`: the sections asked for with -d, in capitals ("MEMORY"); none: all.
std::string report(const Machine& machine, const std::vector<std::string>& displays, const std::string& date);
std::string xml_report(const Machine& machine, const std::string& date);

// Whether -d knows a section of this name.
bool is_display(const std::string& name);

}  // namespace vramfit::smi

#endif
