#include "report/runtime_evidence_json.h"

#include <nlohmann/json.hpp>

#include "report/json_parts.h"

namespace vramfit::report {

using nlohmann::ordered_json;

namespace {

ordered_json holder_json(const model::Holder& holder) {
  return {{"kind", to_string(holder.kind)},
          {"name", or_null(holder.name)},
          {"where", or_null(holder.where)},
          {"container", or_null(holder.container)},
          {"length", holder.length < 0 ? ordered_json(nullptr) : ordered_json(holder.length)},
          {"chain", holder.chain},
          {"filled_at", holder.filled_at}};
}

ordered_json tensor_group_json(const model::TensorGroup& group) {
  return {{"holder", holder_json(group.holder)},
          {"line", or_null(group.line)},
          {"shape", group.shape},
          {"tensors", group.tensors},
          {"bytes", group.bytes.count()},
          {"operation", or_null(group.operation)}};
}

ordered_json graph_json(const model::GrowingGraph& graph) {
  return {{"holder", holder_json(graph.holder)},
          {"nodes_before", graph.nodes_before},
          {"nodes_after", graph.nodes_after},
          {"counted_all", graph.counted_all}};
}

ordered_json growing_line_json(const model::GrowingLine& line) {
  return {{"line", or_null(line.line)},
          {"scope", or_null(line.scope)},
          {"stage", line.stage},
          {"per_step_bytes", line.per_step.count()},
          {"live_bytes", line.live.count()},
          {"blocks_per_step", line.blocks_per_step}};
}

ordered_json collector_json(const model::Collector& collector) {
  return {{"is_on", collector.is_on}, {"freed_bytes", collector.freed.count()}, {"line", or_null(collector.line)}};
}

ordered_json growth_json(const model::Growth& growth) {
  return {{"device", growth.device},
          {"phase", growth.phase},
          {"first_step", growth.first_step},
          {"steps", growth.steps},
          {"per_step_bytes", growth.per_step.count()},
          {"every", growth.every},
          {"unit", growth.unit},
          {"of_peak", growth.of_peak},
          {"runs_out_at_step", growth.runs_out_at ? ordered_json(*growth.runs_out_at) : ordered_json(nullptr)},
          {"levels_bytes", list_json(growth.levels, [](base::Bytes level) { return ordered_json(level.count()); })},
          {"lines", list_json(growth.lines, growing_line_json)},
          {"holders", list_json(growth.holders, tensor_group_json)},
          {"graphs", list_json(growth.graphs, graph_json)}};
}

ordered_json evaluation_json(const model::EvaluationForward& call) {
  return {{"phase", call.phase},
          {"root", call.root},
          {"line", or_null(call.line)},
          {"grad_enabled", call.grad_enabled},
          {"inference_mode", call.inference_mode},
          {"module_training", call.module_training},
          {"has_graph", call.has_graph},
          {"saved_bytes", call.saved.count()},
          {"output_bytes", call.output.count()},
          {"calls", call.calls}};
}

ordered_json kept_from_training_json(const model::KeptFromTraining& left) {
  return {{"phase", left.phase},
          {"device", left.device},
          {"allocated_bytes", left.allocated.count()},
          {"gradient_bytes", left.gradients.count()},
          {"tensors", list_json(left.tensors, tensor_group_json)}};
}

ordered_json copy_json(const model::NeedlessCopy& copy) {
  return {{"operation", copy.operation}, {"line", or_null(copy.line)},  {"first_line", or_null(copy.first_line)},
          {"shape", copy.shape},         {"bytes", copy.bytes.count()}, {"copies", copy.copies},
          {"from_host", copy.from_host}};
}

ordered_json input_work_json(const model::InputWork& work) {
  return {{"device", work.device},
          {"phase", work.phase},
          {"at_peak_bytes", work.at_peak.count()},
          {"inputs_at_peak_bytes", work.inputs_at_peak.count()},
          {"stage_peak_bytes", work.stage_peak.count()},
          {"peak_is_here", work.peak_is_here},
          {"lines", list_json(work.lines, growing_line_json)}};
}

ordered_json first_step_json(const model::FirstOptimizerStep& step) {
  return {{"device", step.device},
          {"optimizer", or_null(step.optimizer)},
          {"state_bytes", step.state.count()},
          {"peak_before_bytes", step.peak_before.count()},
          {"peak_after_bytes", step.peak_after.count()},
          {"out_of_memory", step.out_of_memory},
          {"expected_state_bytes",
           step.expected_state ? ordered_json(step.expected_state->count()) : ordered_json(nullptr)}};
}

ordered_json context_json(const model::ContextOnCard& context) {
  return {{"pid", context.pid},
          {"device", context.device},
          {"role", to_string(context.role)},
          {"rank", context.rank},
          {"world_size", context.world_size},
          {"local_rank", context.local_rank < 0 ? ordered_json(nullptr) : ordered_json(context.local_rank)},
          {"context_bytes", context.context.count()},
          {"library_bytes", context.libraries.count()},
          {"peak_allocated_bytes", context.peak_allocated.count()}};
}

ordered_json thread_json(const model::ThreadMemory& thread) {
  return {{"pid", thread.pid},
          {"device", thread.device},
          {"role", to_string(thread.role)},
          {"peak_bytes", thread.peak.count()},
          {"line", or_null(thread.line)}};
}

ordered_json checkpoint_json(const model::CheckpointLoad& load) {
  return {{"line", or_null(load.line)},        {"path", or_null(load.path)},
          {"map_location", load.map_location}, {"on_card_bytes", load.on_card.count()},
          {"kept_bytes", load.kept.count()},   {"holder", holder_json(load.holder)}};
}

ordered_json weight_copy_json(const model::WeightCopy& copy) {
  return {{"holder", holder_json(copy.holder)},
          {"line", or_null(copy.line)},
          {"tensors", copy.tensors},
          {"bytes", copy.bytes.count()}};
}

ordered_json logits_json(const model::Logits& logits) {
  return {{"device", logits.device},
          {"module", or_null(logits.module)},
          {"classes", logits.classes},
          {"rows", logits.rows},
          {"shape", or_null(logits.shape)},
          {"at_peak_bytes", logits.at_peak.count()},
          {"blocks_at_peak", logits.blocks_at_peak},
          {"of_4_bytes", logits.of_4_bytes},
          {"lines", logits.lines}};
}

ordered_json attention_json(const model::AttentionScores& scores) {
  return {{"line", or_null(scores.line)}, {"operation", scores.operation}, {"shape", scores.shape},
          {"length", scores.length},      {"bytes", scores.bytes.count()}, {"calls", scores.calls}};
}

ordered_json input_json(const model::StepInput& input) {
  return {{"phase", input.phase},
          {"step", input.step},
          {"elements", input.elements},
          {"shapes", input.shapes},
          {"peak_allocated_bytes", input.peak_allocated.count()}};
}

ordered_json oom_json(const model::OomState& oom) {
  return {{"device", oom.device},
          {"phase", oom.phase},
          {"stage", oom.stage},
          {"scope", or_null(oom.scope)},
          {"line", or_null(oom.line)},
          {"thread", or_null(std::string(to_string(oom.thread)))},
          {"tried_bytes", oom.tried.count()},
          {"allocated_bytes", oom.allocated.count()},
          {"reserved_bytes", oom.reserved.count()},
          {"train_steps", oom.train_steps},
          {"evaluation_steps", oom.evaluation_steps},
          {"holders", list_json(oom.holders, tensor_group_json)}};
}

}  // namespace

ordered_json evidence_to_json(const model::RuntimeEvidence& evidence) {
  ordered_json json = {{"measured", evidence.measured}};
  json["contexts"] = list_json(evidence.contexts, context_json);
  json["oom"] = evidence.oom ? oom_json(*evidence.oom) : ordered_json(nullptr);
  json["growth"] = list_json(evidence.growth, growth_json);
  if (!evidence.measured) return json;
  json["judged_steps"] = evidence.judged_steps;
  json["judged_passes"] = evidence.judged_passes;
  json["collector"] = evidence.collector ? collector_json(*evidence.collector) : ordered_json(nullptr);
  json["evaluations"] = list_json(evidence.evaluations, evaluation_json);
  json["kept_from_training"] = list_json(evidence.kept_from_training, kept_from_training_json);
  json["copies"] = list_json(evidence.copies, copy_json);
  json["input_work"] = list_json(evidence.input_work, input_work_json);
  json["first_steps"] = list_json(evidence.first_steps, first_step_json);
  json["threads"] = list_json(evidence.threads, thread_json);
  json["checkpoints"] = list_json(evidence.checkpoints, checkpoint_json);
  json["weight_copies"] = list_json(evidence.weight_copies, weight_copy_json);
  json["logits"] = list_json(evidence.logits, logits_json);
  json["attention"] = list_json(evidence.attention, attention_json);
  json["inputs"] = list_json(evidence.inputs, input_json);
  json["retain_graph"] = evidence.retain_graph;
  json["create_graph"] = evidence.create_graph;
  json["retain_graph_line"] = or_null(evidence.retain_graph_line);
  return json;
}

}  // namespace vramfit::report
