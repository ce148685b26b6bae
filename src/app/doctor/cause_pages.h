// The use case behind `vramfit explain`: what is known of each cause.
#ifndef VRAMFIT_APP_DOCTOR_CAUSE_PAGES_H
#define VRAMFIT_APP_DOCTOR_CAUSE_PAGES_H

#include <string>
#include <vector>

#include "base/error.h"
#include "model/finding.h"

namespace vramfit::app {

// Every cause that is known, in the order of its code; what each decides and cures.
std::vector<model::CausePage> cause_pages();
// Finds a cause by its code or label; the error lists what there is.
base::Result<model::CausePage> find_cause_page(const std::string& name);
// The text of the cause's smallest example; empty: there is none.
std::string example_of(const model::CausePage& page);

}  // namespace vramfit::app

#endif
