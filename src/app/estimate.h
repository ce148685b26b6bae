// What a network named on the command line takes, and the script to prove it with.
#ifndef VRAMFIT_APP_ESTIMATE_H
#define VRAMFIT_APP_ESTIMATE_H

#include <string>
#include <vector>

#include "base/error.h"
#include "estimate/estimate.h"
#include "model/network.h"

namespace vramfit::app {

// A folder with a config.json, such a file, or a network of torchvision or timm by its name. For a name that nobody
// knows the nearest is told.
base::Result<model::Network> find_network(const std::string& name);

base::Result<std::vector<std::string>> network_names();

// A training or inference script of a page or two, which takes what was estimated: a start, made to be changed.
// `name` is what find_network was asked for.
std::string write_script(const model::Network& network, const std::string& name, const estimate::Request& request,
                         const model::Card& card);

// What the script imports beside torch, as pip calls it.
std::vector<std::string> packages_of_script(const model::Network& network, const estimate::Request& request);

}  // namespace vramfit::app

#endif
