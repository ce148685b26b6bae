// cuDNN's backend (graph) API. The heuristics offer what the workspace provider knows; a plan keeps the choice it was
// built from; running it is one launch per operation that does real work.
#include <algorithm>
#include <string>

#include "virtual_gpu/cudnn/descriptor.h"
#include "virtual_gpu/cudnn/graph_work.h"
#include "virtual_gpu/cudnn/handle.h"
#include "virtual_gpu/cudnn/layer_key.h"
#include "virtual_gpu/cudnn/workspace.h"
#include "virtual_gpu/ledger/ledger.h"
#include "virtual_gpu/library/abi.h"

namespace vramfit::cudnn {
namespace {

template <typename T>
Status answer_one(T value, int64_t wanted, int64_t* found, void* elements) {
  if (found != nullptr) *found = 1;
  if (wanted > 0 && elements != nullptr) *static_cast<T*>(elements) = value;
  return kSuccess;
}

Status answer_none(int64_t* found) {
  if (found != nullptr) *found = 0;
  return kSuccess;
}

NodePointer only_child(const Node& node, int32_t name) {
  const auto& held = node.children(name);
  return held.empty() ? nullptr : held.front();
}

// A configuration as heuristics hand it out, with the engine it configures.
NodePointer make_config(const NodePointer& graph, const Choice& choice) {
  auto engine = std::make_shared<Node>();
  engine->type = kEngine;
  engine->finalized = true;
  engine->choice = choice;
  engine->attributes[kEngineGraph] = {.type = kTypeDescriptor, .count = 1, .bytes = {}, .children = {graph}};
  auto config = std::make_shared<Node>();
  config->type = kEngineConfig;
  config->finalized = true;
  config->choice = choice;
  config->attributes[kConfigEngine] = {.type = kTypeDescriptor, .count = 1, .bytes = {}, .children = {engine}};
  return config;
}

NodePointer graph_of_config(const Node& config) {
  const NodePointer engine = only_child(config, kConfigEngine);
  return engine == nullptr ? nullptr : only_child(*engine, kEngineGraph);
}

// The choice behind an engine that the caller built from a number: the heuristics' own of that number, else theirs
// first, so that a workspace is never 0 by accident.
Status choose_engine(Node& engine) {
  const NodePointer graph = only_child(engine, kEngineGraph);
  const std::vector<int64_t> index = engine.integers(kEngineIndex);
  if (graph == nullptr || index.empty()) return kBadParam;
  const Offer offer = workspace_provider().offer(*graph, 0);
  if (offer.choices.empty()) return kNotSupported;
  const auto same = std::find_if(offer.choices.begin(), offer.choices.end(),
                                 [&](const Choice& choice) { return choice.engine == index.front(); });
  engine.choice = same == offer.choices.end() ? offer.choices.front() : *same;
  engine.choice->engine = index.front();
  return kSuccess;
}

Status finalize_plan(Node& plan) {
  const NodePointer config = only_child(plan, kPlanConfig);
  if (config == nullptr || !config->choice) return kBadParam;
  plan.choice = config->choice;
  std::string text = "engine " + std::to_string(plan.choice->engine);
  const NodePointer graph = graph_of_config(*config);
  if (const auto key = graph == nullptr ? std::nullopt : layer_key(*graph)) text += "; " + *key;
  ledger::emit(VF_RECORD_WORKSPACE, ledger::current_card(), 0, plan.choice->workspace_bytes, 0, 0, text.c_str());
  return kSuccess;
}

Status finalize_heuristics(Node& heuristics) {
  const NodePointer graph = only_child(heuristics, kHeuristicsGraph);
  if (graph == nullptr) return kBadParam;
  heuristics.choices = workspace_provider().offer(*graph, heuristics.enumerator(kHeuristicsMode, 0)).choices;
  return heuristics.choices.empty() ? kNotSupported : kSuccess;
}

Status finalize(Node& node) {
  Status status = kSuccess;
  switch (node.type) {
    case kEngine:
      status = choose_engine(node);
      break;
    case kEngineConfig: {
      const NodePointer engine = only_child(node, kConfigEngine);
      if (engine == nullptr) return kBadParam;
      node.choice = engine->choice;
      break;
    }
    case kEngineHeuristics:
      status = finalize_heuristics(node);
      break;
    case kExecutionPlan:
      status = finalize_plan(node);
      break;
    default:
      break;
  }
  node.finalized = status == kSuccess;
  return status;
}

Status heuristics_results(const Node& heuristics, int64_t wanted, int64_t* found, void* elements) {
  const NodePointer graph = only_child(heuristics, kHeuristicsGraph);
  const auto offered = static_cast<int64_t>(heuristics.choices.size());
  const int64_t count = elements == nullptr || wanted <= 0 ? offered : std::min(wanted, offered);
  if (found != nullptr) *found = count;
  if (elements == nullptr || wanted <= 0) return kSuccess;
  auto** targets = static_cast<BackendDescriptor**>(elements);
  for (int64_t i = 0; i < count; ++i) {
    if (targets[i] == nullptr) return kNullPointer;
    targets[i]->node = make_config(graph, heuristics.choices[static_cast<size_t>(i)]);
  }
  return kSuccess;
}

Status numerical_notes(const Node& engine, int64_t wanted, int64_t* found, void* elements) {
  static const std::vector<int32_t> kNone;
  const std::vector<int32_t>& notes = engine.choice ? engine.choice->numerical_notes : kNone;
  if (found != nullptr) *found = static_cast<int64_t>(notes.size());
  if (elements != nullptr && wanted > 0) {
    const auto count = std::min(static_cast<size_t>(wanted), notes.size());
    std::copy_n(notes.begin(), count, static_cast<int32_t*>(elements));
  }
  return kSuccess;
}

// What the library itself answers, as opposed to what the caller set. False: it is not one of those.
bool answer_derived(const Node& node, int32_t name, int64_t wanted, int64_t* found, void* elements, Status* status) {
  const int64_t workspace = node.choice ? node.choice->workspace_bytes : 0;
  switch (name) {
    case kHeuristicsResults:
      *status = heuristics_results(node, wanted, found, elements);
      return true;
    case kEngineNumericalNote:
      *status = numerical_notes(node, wanted, found, elements);
      return true;
    case kConfigKnobs:  // no engine has knobs to turn
    case kEngineKnobs:
    case kEngineLayout:
    case kEngineBehaviorNote:
      *status = answer_none(found);
      return true;
    case kEngineIndex:
      *status = answer_one<int64_t>(node.choice ? node.choice->engine : 0, wanted, found, elements);
      return true;
    case kGraphEngineCount:
      *status = answer_one<int64_t>(1, wanted, found, elements);
      return true;
    case kConfigWorkspace:
    case kPlanWorkspace:
      *status = node.choice ? answer_one<int64_t>(workspace, wanted, found, elements) : kNotFinalized;
      return true;
    case kConfigSharedMemory:
      *status = answer_one<int64_t>(0, wanted, found, elements);
      return true;
    default:
      return false;
  }
}

// An engine that multiplies float32 on tensor cores does so in TF32. PyTorch leaves such engines out where
// torch.backends.cudnn.allow_tf32 is off; it is on unless a script says otherwise.
bool rounds_to_tf32(const Node& config, const library::Work& work) {
  if (work.type != VF_DTYPE_F32 || !config.choice) return false;
  return std::ranges::find(config.choice->numerical_notes, kNoteTensorCore) != config.choice->numerical_notes.end();
}

Status unknown_attribute(const char* what, int32_t name) {
  ledger::note_not_modelled((std::string(what) + " of attribute " + std::to_string(name)).c_str());
  return kNotSupported;
}

}  // namespace
}  // namespace vramfit::cudnn

namespace cudnn = vramfit::cudnn;
using cudnn::BackendDescriptor;

VF_ABI int cudnnBackendCreateDescriptor(int type, BackendDescriptor** descriptor) {
  if (descriptor == nullptr) return cudnn::kNullPointer;
  *descriptor = nullptr;
  if (type < 0 || type > cudnn::kLastDescriptorType) {
    vramfit::ledger::note_not_modelled(("cudnnBackendCreateDescriptor of type " + std::to_string(type)).c_str());
    return cudnn::kNotSupported;
  }
  auto node = std::make_shared<cudnn::Node>();
  node->type = type;
  *descriptor = new BackendDescriptor{std::move(node)};
  return cudnn::kSuccess;
}

VF_ABI int cudnnBackendDestroyDescriptor(BackendDescriptor* descriptor) {
  delete descriptor;
  return cudnn::kSuccess;
}

VF_ABI int cudnnBackendFinalize(BackendDescriptor* descriptor) {
  return descriptor == nullptr ? cudnn::kNullPointer : cudnn::finalize(*descriptor->node);
}

VF_ABI int cudnnBackendSetAttribute(BackendDescriptor* descriptor, int name, int type, int64_t count,
                                    const void* elements) {
  if (descriptor == nullptr) return cudnn::kNullPointer;
  if (!cudnn::is_known_attribute(name)) return cudnn::unknown_attribute("cudnnBackendSetAttribute", name);
  if (descriptor->node->finalized) return cudnn::kBadParam;
  return cudnn::set_attribute(*descriptor->node, name, type, count, elements);
}

VF_ABI int cudnnBackendGetAttribute(const BackendDescriptor* descriptor, int name, int type, int64_t wanted,
                                    int64_t* found, void* elements) {
  if (descriptor == nullptr) return cudnn::kNullPointer;
  const cudnn::Node& node = *descriptor->node;
  cudnn::Status status = cudnn::kSuccess;
  if (cudnn::answer_derived(node, name, wanted, found, elements, &status)) return status;
  if (!cudnn::is_known_attribute(name)) return cudnn::unknown_attribute("cudnnBackendGetAttribute", name);
  status = cudnn::get_attribute(node, name, type, wanted, found, elements);
  return status == cudnn::kNotSupported ? cudnn::unknown_attribute("cudnnBackendGetAttribute", name) : status;
}

VF_ABI int cudnnBackendExecute(cudnn::Handle* handle, BackendDescriptor* plan, BackendDescriptor* variant_pack) {
  if (handle == nullptr || plan == nullptr || variant_pack == nullptr) return cudnn::kNullPointer;
  const cudnn::NodePointer config = cudnn::only_child(*plan->node, cudnn::kPlanConfig);
  const cudnn::NodePointer graph = config == nullptr ? nullptr : cudnn::graph_of_config(*config);
  if (graph == nullptr || !plan->node->finalized) return cudnn::kNotFinalized;
  auto all = cudnn::work_of(*graph);
  if (all.empty()) vramfit::library::launch(handle->stream);
  for (auto& work : all) {
    if (cudnn::rounds_to_tf32(*config, work)) work.type = VF_DTYPE_TF32;
    vramfit::library::run(handle->stream, work, "cudnnBackendExecute");
  }
  return cudnn::kSuccess;
}
