// A diagnosis, and a cause's page, for a person: the verdict first and again last, 80 columns.
#ifndef VRAMFIT_REPORT_DOCTOR_TEXT_H
#define VRAMFIT_REPORT_DOCTOR_TEXT_H

#include <string>
#include <vector>

#include "model/finding.h"
#include "report/mark.h"

namespace vramfit::report {

struct DoctorTextOptions {
  bool verbose = false;  // every finding in full, every check
  bool ascii = false;    // for terminals without UTF-8
};

// "frees 1.20 GiB; costs time: none; apply as it is".
std::string fix_note(const model::Fix& fix);

Mark diagnosis_mark(const model::Diagnosis& diagnosis);

std::string diagnosis_to_text(const model::Diagnosis& diagnosis, const DoctorTextOptions& options);

// `example` is the text of the smallest example; empty: there is none.
std::string cause_to_text(const model::CausePage& page, std::string_view example, const DoctorTextOptions& options);

// One line for each cause: code, label, title.
std::string causes_to_text(const std::vector<model::CausePage>& pages);

}  // namespace vramfit::report

#endif
