#include "job/cudnn_source.h"

#include <system_error>

#include "base/nearest_word.h"
#include "job/kept_environment.h"

namespace vramfit::job {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLibrary = "libcudnn_graph.so.9";

CudnnSource source_in(const fs::path& folder, const base::Environment& environment) {
  CudnnSource source{folder, {}};
  const auto cache = find_cache(environment);
  std::error_code problem;
  if (cache && (fs::create_directories(*cache, problem) || !problem)) source.answers = *cache / "cudnn-answers";
  return source;
}

}  // namespace

base::Result<std::optional<CudnnSource>> find_cudnn(const std::string& wanted, const Interpreter& interpreter,
                                                    const base::Environment& environment) {
  if (wanted == "zero" || wanted == "recorded") return std::nullopt;
  std::error_code problem;
  if (wanted == "auto") {
    const fs::path folder = interpreter.torch_folder.parent_path() / "nvidia" / "cudnn" / "lib";
    if (interpreter.torch_folder.empty() || !fs::exists(folder / kLibrary, problem)) return std::nullopt;
    return source_in(folder, environment);
  }
  const fs::path folder = fs::absolute(wanted, problem);
  if (!fs::exists(folder / kLibrary, problem)) {
    const std::string meant =
        fs::exists(folder, problem) ? "" : base::did_you_mean(wanted, {"auto", "recorded", "zero"});
    return base::fail(base::ErrorCode::kNotFound, std::string("no ") + kLibrary + " in this folder" + meant,
                      folder.string(),
                      "--cudnn auto, --cudnn recorded, --cudnn zero, or the folder nvidia/cudnn/lib of an environment "
                      "with cuDNN 9.8 or "
                      "later");
  }
  return source_in(folder, environment);
}

}  // namespace vramfit::job
