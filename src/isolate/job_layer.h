// The layer of one job from our side, of whichever kind this machine gives.
//
//   find_mechanism()  once: what works here, tried in a process of its own
//   JobLayer::open()  for each job; the job's process calls enter(layer.spec())
//   look(), keep()    when the job has ended
#ifndef VRAMFIT_ISOLATE_JOB_LAYER_H
#define VRAMFIT_ISOLATE_JOB_LAYER_H

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/error.h"
#include "isolate/layer.h"
#include "isolate/shared_memory.h"
#include "isolate/supervised/session.h"
#include "isolate/watch.h"

namespace vramfit::isolate {

// The best first.
enum class Mechanism { kOverlay, kUserNamespace, kSupervisor };
std::string_view to_string(Mechanism mechanism);  // "overlay", "user_namespace", "supervisor"
std::optional<Mechanism> parse_mechanism(std::string_view text);

class JobLayer {
 public:
  // `folder` is an empty one of ours, for the layer's own use; `wanted` says the rest.
  static base::Result<JobLayer> open(LayerSpec wanted, Mechanism mechanism, const std::filesystem::path& folder);

  const LayerSpec& spec() const { return spec_; }
  // Looks at it after the job. An error: it never entered its layer.
  base::Result<LayerContents> look();
  // What was not kept, a line each.
  base::Result<std::vector<std::string>> keep(const std::filesystem::path& folder) const;

 private:
  using Watch = std::variant<LayerWatch, std::unique_ptr<SupervisedWatch>>;
  JobLayer(LayerSpec spec, Watch watch, std::optional<SharedMemoryFolder> memory = std::nullopt)
      : spec_(std::move(spec)), memory_(std::move(memory)), watch_(std::move(watch)) {}

  LayerSpec spec_;
  std::optional<SharedMemoryFolder> memory_;
  Watch watch_;
};

// The first that gives such a layer, or `only` that one. `folder` is an empty one of ours. The error says why each
// does not.
base::Result<Mechanism> find_mechanism(const LayerSpec& wanted, std::optional<Mechanism> only,
                                       const std::filesystem::path& folder);

}  // namespace vramfit::isolate

#endif
