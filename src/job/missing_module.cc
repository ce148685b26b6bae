#include "job/missing_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace vramfit::job {

namespace {

// The package on PyPI that has a module, where that is sure: anybody may have taken a module's name for a package of
// another kind.
std::string_view package_of(std::string_view module) {
  struct Known {
    std::string_view module, package;  // no package: of the same name
  };
  static constexpr auto kKnown = std::to_array<Known>({{"accelerate", ""},
                                                       {"albumentations", ""},
                                                       {"bitsandbytes", ""},
                                                       {"bs4", "beautifulsoup4"},
                                                       {"cv2", "opencv-python-headless"},
                                                       {"datasets", ""},
                                                       {"deepspeed", ""},
                                                       {"diffusers", ""},
                                                       {"einops", ""},
                                                       {"evaluate", ""},
                                                       {"gymnasium", ""},
                                                       {"h5py", ""},
                                                       {"hydra", "hydra-core"},
                                                       {"imageio", ""},
                                                       {"lightning", ""},
                                                       {"matplotlib", ""},
                                                       {"monai", ""},
                                                       {"nltk", ""},
                                                       {"numpy", ""},
                                                       {"omegaconf", ""},
                                                       {"pandas", ""},
                                                       {"peft", ""},
                                                       {"PIL", "pillow"},
                                                       {"pycocotools", ""},
                                                       {"pytorch_lightning", "pytorch-lightning"},
                                                       {"requests", ""},
                                                       {"safetensors", ""},
                                                       {"scipy", ""},
                                                       {"segmentation_models_pytorch", "segmentation-models-pytorch"},
                                                       {"sentencepiece", ""},
                                                       {"skimage", "scikit-image"},
                                                       {"sklearn", "scikit-learn"},
                                                       {"stable_baselines3", "stable-baselines3"},
                                                       {"tensorboard", ""},
                                                       {"tiktoken", ""},
                                                       {"timm", ""},
                                                       {"tokenizers", ""},
                                                       {"torch_geometric", "torch-geometric"},
                                                       {"torchaudio", ""},
                                                       {"torchmetrics", ""},
                                                       {"torchvision", ""},
                                                       {"tqdm", ""},
                                                       {"transformers", ""},
                                                       {"trl", ""},
                                                       {"ultralytics", ""},
                                                       {"wandb", ""},
                                                       {"yaml", "pyyaml"}});
  const auto found = std::ranges::find(kKnown, module, &Known::module);
  if (found == kKnown.end()) return {};
  return found->package.empty() ? found->module : found->package;
}

}  // namespace

std::string remedy_for_missing_module(const JobEnvironment& environment, const std::string& module) {
  const std::string name = module.substr(0, module.find('.'));
  const std::string_view package = package_of(name);
  if (package.empty()) {
    return fmt::format(
        "install the package that has {}, whose name may be another; where it is a folder of the project's own: start "
        "in that project's folder, or name it in PYTHONPATH",
        name);
  }
  if (!environment.is_kept)
    return fmt::format("{} -m pip install {}", environment.interpreter.program.string(), package);
  const std::string& version = environment.interpreter.torch;
  return fmt::format(
      "vramfit env add {} --torch {}; or run with an interpreter that has torch and {}: -- /path/to/python ...",
      package, version.substr(0, version.find('+')), package);
}

}  // namespace vramfit::job
