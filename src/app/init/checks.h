// What `vramfit init` looks at, one concern each; checks.cc puts them in their order.
#ifndef VRAMFIT_APP_INIT_CHECKS_H
#define VRAMFIT_APP_INIT_CHECKS_H

#include <string>
#include <utility>
#include <vector>

#include "app/init/init.h"
#include "model/environment_check.h"

namespace vramfit::app {

// The driver, the torch that a job would get, and whether it has kernels for the cards.
std::vector<model::EnvironmentCheck> check_python(const InitFacts& facts);

// The settings of PyTorch's allocator in the environment.
std::vector<model::EnvironmentCheck> check_allocator(const InitFacts& facts);

// The state of each card, and who else is on it.
std::vector<model::EnvironmentCheck> check_cards(const InitFacts& facts);

// /dev/shm, limits of processes, the host's memory and swap.
std::vector<model::EnvironmentCheck> check_host(const InitFacts& facts);

// Room for what vramfit keeps.
std::vector<model::EnvironmentCheck> check_disks(const InitFacts& facts);

inline model::EnvironmentCheck good(std::string id, std::string text) {
  return {std::move(id), model::EnvironmentState::kOk, std::move(text), "", ""};
}
// What could not be looked at.
inline model::EnvironmentCheck unknown(std::string id, std::string text) {
  return {std::move(id), model::EnvironmentState::kUnknown, std::move(text), "", ""};
}

}  // namespace vramfit::app

#endif
