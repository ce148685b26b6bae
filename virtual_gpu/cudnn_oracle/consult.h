// Puts one question to a real cuDNN: rebuilds the operation graph, asks the heuristics, builds the plans.
#pragma once

#include "backend.h"
#include "wire.h"

namespace vramfit::cudnn_oracle {

Answer consult(const Backend& backend, const Question& question);

}  // namespace vramfit::cudnn_oracle
