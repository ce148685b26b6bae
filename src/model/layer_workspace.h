// What one convolution took as workspace on a real card.
#ifndef VRAMFIT_MODEL_LAYER_WORKSPACE_H
#define VRAMFIT_MODEL_LAYER_WORKSPACE_H

#include <string>

#include "base/bytes.h"

namespace vramfit::model {

struct LayerWorkspace {
  std::string layer;    // as virtual_gpu/cudnn/layer_key.h spells it
  base::Bytes taken;    // by the plan that PyTorch used in the end
  base::Bytes largest;  // of the plans that benchmark mode tried; else as `taken`
  friend bool operator==(const LayerWorkspace&, const LayerWorkspace&) = default;
};

}  // namespace vramfit::model

#endif
