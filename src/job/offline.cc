#include "job/offline.h"

#include <array>
#include <string_view>
#include <utility>

namespace vramfit::job {

namespace {

constexpr std::array<std::pair<const char*, const char*>, 12> kVariables = {{
    {"WANDB_MODE", "offline"},                 // docs.wandb.ai, "Run W&B offline"
    {"COMET_START_ONLINE", "0"},               // comet_ml.start(online=False)
    {"COMET_MODE", "OFFLINE"},                 // transformers.integrations.CometCallback
    {"NEPTUNE_MODE", "offline"},               // docs.neptune.ai/logging/offline
    {"CLEARML_OFFLINE_MODE", "1"},             // clearml.Task.set_offline
    {"SWANLAB_MODE", "offline"},               // docs.swanlab.cn, "swanlab offline"
    {"HF_HUB_OFFLINE", "1"},                   // huggingface_hub: what is in the cache is used, nothing is asked for
    {"TRANSFORMERS_OFFLINE", "1"},             // releases that do not know HF_HUB_OFFLINE
    {"HF_DATASETS_OFFLINE", "1"},              // the same of datasets
    {"HF_EVALUATE_OFFLINE", "1"},              // and of evaluate
    {"MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0"},  // MLflow has no offline mode: its server is asked once
    {"MLFLOW_ENABLE_ASYNC_LOGGING", "false"},
}};

}  // namespace

void go_offline(base::Environment& environment) {
  for (const auto& [name, value] : kVariables) environment[name] = value;
  // A tracking server is out of reach: MLflow writes to a folder then, as it does by itself.
  const auto tracking = environment.find("MLFLOW_TRACKING_URI");
  if (tracking != environment.end() && !tracking->second.starts_with("file:") &&
      !tracking->second.starts_with("sqlite:") && tracking->second.find(':') != std::string::npos) {
    environment.erase(tracking);
  }
}

}  // namespace vramfit::job
