// A plan as changes of the user's own source (python/vramfit/patch makes them where the job runs).
#ifndef VRAMFIT_MODEL_PATCH_H
#define VRAMFIT_MODEL_PATCH_H

#include "model/told.h"

namespace vramfit::model {

using PatchedFile = told::PatchedFile;
using UnpatchedTechnique = told::UnpatchedTechnique;
using Patch = told::Patch;

}  // namespace vramfit::model

#endif
