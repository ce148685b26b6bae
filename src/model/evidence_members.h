// The members of a run's evidence by the names that they have in JSON: what writes them (report) and what reads them
// back (ingest) go through these, so that a member that is written is read. docs/run.schema.json describes them.
//
//   value       a number, a text, a list of them; sizes in bytes; an optional one is null where it is not there
//   or_null     a text that is null where it is empty
//   not_below   a number that is null below 0
//   word        one of some words
//   one, maybe  an object; an optional one
//   rows        a list of objects
#ifndef VRAMFIT_MODEL_EVIDENCE_MEMBERS_H
#define VRAMFIT_MODEL_EVIDENCE_MEMBERS_H

#include <concepts>
#include <type_traits>

#include "model/runtime_evidence.h"

namespace vramfit::model {

template <class T, class Of>
concept Is = std::same_as<std::remove_const_t<T>, Of>;

void members(auto& v, Is<Holder> auto& of) {
  v.word("kind", of.kind, notes::kHolderKindWords);
  v.or_null("name", of.name);
  v.or_null("where", of.where);
  v.or_null("container", of.container);
  v.not_below("length", of.length);
  v.value("chain", of.chain);
  v.value("filled_at", of.filled_at);
}

void members(auto& v, Is<TensorGroup> auto& of) {
  v.one("holder", of.holder);
  v.or_null("line", of.line);
  v.value("shape", of.shape);
  v.value("tensors", of.tensors);
  v.value("bytes", of.bytes);
  v.or_null("operation", of.operation);
}

void members(auto& v, Is<GrowingGraph> auto& of) {
  v.one("holder", of.holder);
  v.value("nodes_before", of.nodes_before);
  v.value("nodes_after", of.nodes_after);
  v.value("counted_all", of.counted_all);
}

void members(auto& v, Is<GrowingLine> auto& of) {
  v.or_null("line", of.line);
  v.or_null("scope", of.scope);
  v.value("stage", of.stage);
  v.value("per_step_bytes", of.per_step);
  v.value("live_bytes", of.live);
  v.value("blocks_per_step", of.blocks_per_step);
}

void members(auto& v, Is<Collector> auto& of) {
  v.value("is_on", of.is_on);
  v.value("freed_bytes", of.freed);
  v.or_null("line", of.line);
}

void members(auto& v, Is<Growth> auto& of) {
  v.value("device", of.device);
  v.value("phase", of.phase);
  v.value("first_step", of.first_step);
  v.value("steps", of.steps);
  v.value("per_step_bytes", of.per_step);
  v.value("every", of.every);
  v.value("unit", of.unit);
  v.value("of_peak", of.of_peak);
  v.value("runs_out_at_step", of.runs_out_at);
  v.value("levels_bytes", of.levels);
  v.rows("lines", of.lines);
  v.rows("holders", of.holders);
  v.rows("graphs", of.graphs);
}

void members(auto& v, Is<EvaluationForward> auto& of) {
  v.value("phase", of.phase);
  v.value("root", of.root);
  v.or_null("line", of.line);
  v.value("grad_enabled", of.grad_enabled);
  v.value("inference_mode", of.inference_mode);
  v.value("module_training", of.module_training);
  v.value("has_graph", of.has_graph);
  v.value("saved_bytes", of.saved);
  v.value("output_bytes", of.output);
  v.value("calls", of.calls);
}

void members(auto& v, Is<KeptFromTraining> auto& of) {
  v.value("phase", of.phase);
  v.value("device", of.device);
  v.value("allocated_bytes", of.allocated);
  v.value("gradient_bytes", of.gradients);
  v.rows("tensors", of.tensors);
}

void members(auto& v, Is<NeedlessCopy> auto& of) {
  v.value("operation", of.operation);
  v.or_null("line", of.line);
  v.or_null("first_line", of.first_line);
  v.value("shape", of.shape);
  v.value("bytes", of.bytes);
  v.value("copies", of.copies);
  v.value("from_host", of.from_host);
}

void members(auto& v, Is<InputWork> auto& of) {
  v.value("device", of.device);
  v.value("phase", of.phase);
  v.value("at_peak_bytes", of.at_peak);
  v.value("inputs_at_peak_bytes", of.inputs_at_peak);
  v.value("stage_peak_bytes", of.stage_peak);
  v.value("peak_is_here", of.peak_is_here);
  v.rows("lines", of.lines);
}

void members(auto& v, Is<FirstOptimizerStep> auto& of) {
  v.value("device", of.device);
  v.or_null("optimizer", of.optimizer);
  v.value("state_bytes", of.state);
  v.value("peak_before_bytes", of.peak_before);
  v.value("peak_after_bytes", of.peak_after);
  v.value("out_of_memory", of.out_of_memory);
  v.value("expected_state_bytes", of.expected_state);
}

void members(auto& v, Is<ContextOnCard> auto& of) {
  v.value("pid", of.pid);
  v.value("device", of.device);
  v.word("role", of.role, kJobRoleWords);
  v.value("rank", of.rank);
  v.value("world_size", of.world_size);
  v.not_below("local_rank", of.local_rank);
  v.value("context_bytes", of.context);
  v.value("library_bytes", of.libraries);
  v.value("peak_allocated_bytes", of.peak_allocated);
}

void members(auto& v, Is<ThreadMemory> auto& of) {
  v.value("pid", of.pid);
  v.value("device", of.device);
  v.word("role", of.role, notes::kThreadRoleWords);
  v.value("peak_bytes", of.peak);
  v.or_null("line", of.line);
}

void members(auto& v, Is<CheckpointLoad> auto& of) {
  v.or_null("line", of.line);
  v.or_null("path", of.path);
  v.value("map_location", of.map_location);
  v.value("on_card_bytes", of.on_card);
  v.value("kept_bytes", of.kept);
  v.one("holder", of.holder);
}

void members(auto& v, Is<WeightCopy> auto& of) {
  v.one("holder", of.holder);
  v.or_null("line", of.line);
  v.value("tensors", of.tensors);
  v.value("bytes", of.bytes);
}

void members(auto& v, Is<Logits> auto& of) {
  v.value("device", of.device);
  v.or_null("module", of.module);
  v.value("classes", of.classes);
  v.value("rows", of.rows);
  v.or_null("shape", of.shape);
  v.value("at_peak_bytes", of.at_peak);
  v.value("blocks_at_peak", of.blocks_at_peak);
  v.value("of_4_bytes", of.of_4_bytes);
  v.value("lines", of.lines);
}

void members(auto& v, Is<AttentionScores> auto& of) {
  v.or_null("line", of.line);
  v.value("operation", of.operation);
  v.value("shape", of.shape);
  v.value("length", of.length);
  v.value("bytes", of.bytes);
  v.value("calls", of.calls);
}

void members(auto& v, Is<StepInput> auto& of) {
  v.value("phase", of.phase);
  v.value("step", of.step);
  v.value("elements", of.elements);
  v.value("shapes", of.shapes);
  v.value("peak_allocated_bytes", of.peak_allocated);
}

void members(auto& v, Is<OomState> auto& of) {
  v.value("device", of.device);
  v.value("phase", of.phase);
  v.value("stage", of.stage);
  v.or_null("scope", of.scope);
  v.or_null("line", of.line);
  v.word_or_null("thread", of.thread, notes::kThreadRoleWords);
  v.value("tried_bytes", of.tried);
  v.value("allocated_bytes", of.allocated);
  v.value("reserved_bytes", of.reserved);
  v.value("train_steps", of.train_steps);
  v.value("evaluation_steps", of.evaluation_steps);
  v.rows("holders", of.holders);
}

// What every run has comes first, what only one has that was diagnosed behind it.
void members(auto& v, Is<RuntimeEvidence> auto& of) {
  v.value("measured", of.measured);
  v.rows("contexts", of.contexts);
  v.maybe("oom", of.oom);
  v.rows("growth", of.growth);
  if (!of.measured) return;
  v.value("judged_steps", of.judged_steps);
  v.value("judged_passes", of.judged_passes);
  v.maybe("collector", of.collector);
  v.rows("evaluations", of.evaluations);
  v.rows("kept_from_training", of.kept_from_training);
  v.rows("copies", of.copies);
  v.rows("input_work", of.input_work);
  v.rows("first_steps", of.first_steps);
  v.rows("threads", of.threads);
  v.rows("checkpoints", of.checkpoints);
  v.rows("weight_copies", of.weight_copies);
  v.rows("logits", of.logits);
  v.rows("attention", of.attention);
  v.rows("inputs", of.inputs);
  v.value("retain_graph", of.retain_graph);
  v.value("create_graph", of.create_graph);
  v.or_null("retain_graph_line", of.retain_graph_line);
}

}  // namespace vramfit::model

#endif
