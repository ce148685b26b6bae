#include <fmt/format.h>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

void find_needless_copies(const Scene& scene, Draft& draft) {
  model::Bytes sum;
  model::Bytes peak;
  if (!scene.has_run() || scene.runtime().copies.empty()) return;
  for (const model::DeviceResult& device : scene.run()->devices) peak = std::max(peak, device.peaks.allocated);
  for (const model::NeedlessCopy& copy : scene.runtime().copies) sum += copy.bytes;
  const double part = share(sum, peak);
  if (part < 0.05) return;
  draft.weigh(scene.run_failed_for_memory() ? std::min(0.88, 0.5 + part) : 0.5);
  if (!scene.run_failed_for_memory()) draft.severity(model::Severity::kWarning);
  for (const model::NeedlessCopy& copy : scene.runtime().copies) {
    draft.because(fmt::format("the run: {} at {} copies {} ({}, {} a step){}", copy.operation, copy.line, copy.shape,
                              show(copy.bytes), copy.copies,
                              copy.first_line.empty() ? "" : "; the first copy is from " + copy.first_line));
  }
  const model::NeedlessCopy& first = scene.runtime().copies.front();
  draft.fix({fmt::format("Use the tensor itself instead of its copy at {}", first.line),
             first.from_host ? "x = x.to(device)  # once" : "drop ." + first.operation + "()", sum, "none: faster",
             Applicability::kMayBeWrong});
}

}  // namespace

const Cause kNeedlessCopies{"VF115",
                            "needless_copies",
                            "The same values are on the card twice",
                            "two tensors of equal content alive at the end of a forward pass, neither changed since",
                            "A clone, a contiguous(), a second .cuda() of the same host tensor: both copies stay alive "
                            "until the backward pass.",
                            "Copy once and share; detach() instead of clone() where nothing is changed.",
                            find_needless_copies};

}  // namespace vramfit::doctor
