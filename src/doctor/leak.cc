#include "doctor/leak.h"

#include "doctor/holders.h"

namespace vramfit::doctor {

namespace {

std::optional<Leak> in_run(const model::RuntimeEvidence& runtime) {
  for (const model::Growth& growth : runtime.growth) {
    if (growth.per_step.count() <= 0 || growth.steps < 3) continue;
    std::string what = growth.holders.empty() ? "" : describe(growth.holders.front().holder);
    if (what.empty()) what = growth.lines.empty() ? "what grows" : growth.lines.front().line;
    return Leak{std::move(what), growth.per_step, growth.steps};
  }
  return std::nullopt;
}

}  // namespace

bool is_piled_up(const model::TensorGroup& held, Bytes allocated) {
  constexpr std::int64_t kMany = 8;
  return held.tensors >= kMany && held.holder.length >= kMany && held.holder.container != "tuple" &&
         share(held.bytes, allocated) >= 0.1;
}

bool is_piled_up(const CallSite& site, const SnapshotFacts& facts) {
  return site.in_trace >= 5 && site.spread >= 0.5 && site.freed * 4 <= site.in_trace && facts.steps >= 2 &&
         share(site.bytes, facts.active) >= 0.05;
}

std::optional<Leak> find_leak(const Scene& scene) {
  if (auto leak = in_run(scene.runtime())) return leak;
  if (const auto& oom = scene.runtime().oom) {
    for (const model::TensorGroup& held : oom->holders) {
      if (!is_piled_up(held, oom->allocated)) continue;
      return Leak{describe(held.holder), Bytes(held.bytes.count() / held.tensors), held.tensors};
    }
  }
  for (const SnapshotFacts& facts : scene.snapshots) {
    for (const CallSite& site : facts.sites) {
      if (is_piled_up(site, facts))
        return Leak{"the blocks made at " + site.line, Bytes(site.bytes.count() / site.blocks), site.blocks};
    }
  }
  return std::nullopt;
}

std::int64_t steps_bought(const Leak& leak, Bytes bytes) {
  return leak.per_step.count() > 0 ? bytes.count() / leak.per_step.count() : 0;
}

}  // namespace vramfit::doctor
