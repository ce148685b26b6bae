#ifndef VRAMFIT_APP_FIT_REQUEST_H
#define VRAMFIT_APP_FIT_REQUEST_H

#include "app/fit/fit.h"
#include "base/error.h"

namespace vramfit::app {

// Whether it can be asked for at all: virtual cards, techniques that exist.
base::Result<void> check_request(const FitRequest& request);

}  // namespace vramfit::app

#endif
