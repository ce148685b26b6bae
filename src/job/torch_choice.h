// Which release of torch, and which Python of the machine, an environment of vramfit's own is made of.
#ifndef VRAMFIT_JOB_TORCH_CHOICE_H
#define VRAMFIT_JOB_TORCH_CHOICE_H

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/subprocess.h"
#include "job/interpreter.h"
#include "job/torch_releases.h"
#include "model/card.h"

namespace vramfit::job {

struct TorchChoice {
  TorchRelease release;
  Interpreter base;
};

// `asked`: a version, whatever the cards; else the newest with kernels for all of them. `meant`: the interpreter of the
// command, which is looked at first; then whatever the PATH has.
base::Result<TorchChoice> choose_torch(const std::optional<std::string>& asked, const std::vector<model::Card>& cards,
                                       const std::optional<Interpreter>& meant, const base::Environment& environment);

// The newest release with kernels for these cards that this Python (3.MINOR) runs.
std::optional<TorchRelease> find_release_for(const std::vector<model::Card>& cards, const Interpreter& python);

// "GeForce GTX 1080 (compute capability 6.1)": those that a build has no kernels for; empty where it has, or says
// nothing of them.
std::string name_cards_without_kernels(const std::vector<model::Card>& cards,
                                       const std::vector<model::ComputeCapability>& architectures);

}  // namespace vramfit::job

#endif
