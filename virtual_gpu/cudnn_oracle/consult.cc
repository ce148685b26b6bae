#include "consult.h"

#include <algorithm>

namespace vramfit::cudnn_oracle {
namespace {

// A cuDNN call that failed; only consult() catches it, and turns it into an Answer.
struct Failure {
  int status;
  std::string message;
};

// Creates descriptors and destroys them all at the end.
class Workshop {
 public:
  explicit Workshop(const Backend& backend) : backend_(backend) {}
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
  ~Workshop() {
    for (auto it = made_.rbegin(); it != made_.rend(); ++it) backend_.destroy(*it);
  }

  Handle make(int32_t type) {
    Handle handle = nullptr;
    check(backend_.create(type, &handle), "create descriptor", type);
    made_.push_back(handle);
    return handle;
  }
  void set(Handle handle, int32_t name, int32_t type, int64_t count, const void* values) {
    check(backend_.set(handle, name, type, count, values), "set attribute", name);
  }
  void set_descriptor(Handle handle, int32_t name, Handle value) { set(handle, name, kTypeDescriptor, 1, &value); }
  void finalize(Handle handle, int32_t type) { check(backend_.finalize(handle), "finalize descriptor", type); }
  bool try_finalize(Handle handle) { return backend_.finalize(handle) == 0; }

 private:
  void check(int status, const char* what, int32_t which) const {
    if (status != 0)
      throw Failure{status, std::string(what) + " " + std::to_string(which) + ": " + backend_.last_error_text()};
  }

  const Backend& backend_;
  std::vector<Handle> made_;
};

Handle build_device(Workshop& workshop, const std::string& json) {
  Handle device = workshop.make(kDeviceProperties);
  workshop.set(device, kDeviceJson, kTypeChar, static_cast<int64_t>(json.size()), json.data());
  workshop.finalize(device, kDeviceProperties);
  return device;
}

void set_attribute(Workshop& workshop, Handle handle, const Attribute& attribute, const std::vector<Handle>& handles) {
  if (attribute.type == kTypeHandle) return;  // the job's own cuDNN handle means nothing here
  if (attribute.type != kTypeDescriptor) {
    workshop.set(handle, attribute.name, attribute.type, attribute.count, attribute.bytes.data());
    return;
  }
  std::vector<Handle> children;
  for (uint32_t child : attribute.children) children.push_back(handles[child]);
  workshop.set(handle, attribute.name, kTypeDescriptor, static_cast<int64_t>(children.size()), children.data());
}

Handle build_graph(Workshop& workshop, const Question& question) {
  std::vector<Handle> handles;
  for (const Descriptor& descriptor : question.descriptors) {
    Handle handle = workshop.make(descriptor.type);
    for (const Attribute& attribute : descriptor.attributes) set_attribute(workshop, handle, attribute, handles);
    workshop.finalize(handle, descriptor.type);
    handles.push_back(handle);
  }
  return handles[question.graph];
}

std::vector<Handle> ask_heuristics(const Backend& backend, Workshop& workshop, Handle graph, Handle device,
                                   int32_t mode) {
  Handle heuristics = workshop.make(kEngineHeuristics);
  workshop.set_descriptor(heuristics, kHeuristicsGraph, graph);
  workshop.set(heuristics, kHeuristicsMode, kTypeHeurMode, 1, &mode);
  workshop.set_descriptor(heuristics, kHeuristicsDevice, device);
  workshop.finalize(heuristics, kEngineHeuristics);
  int64_t count = 0;
  backend.get(heuristics, kHeuristicsResults, kTypeDescriptor, 0, &count, nullptr);
  std::vector<Handle> configs(static_cast<size_t>(std::max<int64_t>(count, 0)));
  for (Handle& config : configs) config = workshop.make(kEngineConfig);
  int64_t got = 0;
  if (!configs.empty()) backend.get(heuristics, kHeuristicsResults, kTypeDescriptor, count, &got, configs.data());
  configs.resize(static_cast<size_t>(std::clamp<int64_t>(got, 0, count)));
  return configs;
}

void describe_engine(const Backend& backend, Workshop& workshop, Handle config, Plan& plan) {
  Handle engine = workshop.make(kEngine);
  int64_t count = 0;
  if (backend.get(config, kConfigEngine, kTypeDescriptor, 1, &count, &engine) != 0) return;
  backend.get(engine, kEngineIndex, kTypeInt64, 1, &count, &plan.engine);
  int32_t notes[16] = {};
  if (backend.get(engine, kEngineNumericalNote, kTypeNumericalNote, 16, &count, notes) == 0) {
    plan.numerical_notes.assign(notes, notes + std::clamp<int64_t>(count, 0, 16));
  }
}

// A configuration that heuristics offer knows its workspace: nothing need be built for it, and no kernel compiled,
// which some engines do when a plan is built (a tenth of a second each).
bool find_workspace(const Backend& backend, Workshop& workshop, Handle config, Handle device, Plan& plan) {
  int64_t count = 0;
  if (backend.get(config, kConfigWorkspace, kTypeInt64, 1, &count, &plan.workspace_bytes) == 0 && count == 1)
    return true;
  Handle handle = workshop.make(kExecutionPlan);
  workshop.set_descriptor(handle, kPlanConfig, config);
  workshop.set_descriptor(handle, kPlanDevice, device);
  if (!workshop.try_finalize(handle)) return false;
  return backend.get(handle, kPlanWorkspace, kTypeInt64, 1, &count, &plan.workspace_bytes) == 0;
}

}  // namespace

Answer consult(const Backend& backend, const Question& question) {
  Answer answer;
  answer.cudnn_version = static_cast<int64_t>(backend.version());
  Workshop workshop(backend);
  try {
    Handle device = build_device(workshop, question.device_json);
    Handle graph = build_graph(workshop, question);
    for (Handle config : ask_heuristics(backend, workshop, graph, device, question.heuristic_mode)) {
      if (static_cast<int32_t>(answer.plans.size()) >= question.most) break;
      Plan plan;
      if (!find_workspace(backend, workshop, config, device, plan)) continue;
      describe_engine(backend, workshop, config, plan);
      answer.plans.push_back(plan);
    }
  } catch (const Failure& failure) {
    answer.status = failure.status;
    answer.message = failure.message;
  }
  return answer;
}

}  // namespace vramfit::cudnn_oracle
