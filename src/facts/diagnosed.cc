#include "facts/diagnosed.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "liveness/step_memory.h"
#include "model/recording.h"

namespace vramfit::facts {

using base::Bytes;
using liveness::CardHistory;
using model::Holder;
using model::Recording;
using model::RuntimeEvidence;
using model::TensorGroup;
namespace notes = model::notes;

namespace {

// The block that was at an address when a process wrote a note: the script's line that made it, and its card.
struct Found {
  std::string line;
  int device = 0;
};

class Blocks {
 public:
  Blocks(std::span<const Recording> recordings, std::span<const CardHistory> histories, int process)
      : recordings_(recordings), histories_(histories), process_(process) {}

  Found find(std::uint64_t address, std::int64_t at_ns) const {
    if (address == 0) return {};
    for (const CardHistory& history : histories_) {
      const liveness::Block* block = block_at(history, process_, address, event_at(history, at_ns));
      if (block == nullptr) continue;
      return {std::string(recordings_[static_cast<std::size_t>(process_)].text(block->line)), history.device};
    }
    return {};
  }

 private:
  std::span<const Recording> recordings_;
  std::span<const CardHistory> histories_;
  int process_;
};

// Adds the lines that the recording knows.
std::vector<TensorGroup> with_lines(std::vector<TensorGroup> tensors, std::int64_t at_ns, const Blocks& blocks) {
  for (TensorGroup& group : tensors) {
    if (std::string line = blocks.find(group.address, at_ns).line; !line.empty()) group.line = std::move(line);
  }
  return tensors;
}

// The card of a note that names none: that of its first tensor.
int device_of(const std::vector<TensorGroup>& tensors, std::int64_t at_ns, const Blocks& blocks) {
  for (const TensorGroup& group : tensors) {
    const Found found = blocks.find(group.address, at_ns);
    if (!found.line.empty() || found.device > 0) return found.device;
  }
  return 0;
}

// "losses[3]" and "losses[4]" are one holder.
std::string without_indices(const std::string& name) {
  std::string kept;
  bool inside = false;
  for (const char c : name) {
    if (c == '[') inside = true;
    if (!inside) kept += c;
    if (c == ']') inside = false;
  }
  return kept;
}

void add_holder(std::vector<TensorGroup>& holders, TensorGroup group) {
  for (TensorGroup& known : holders) {
    const bool same = known.shape == group.shape && known.holder.kind == group.holder.kind &&
                      without_indices(known.holder.name) == without_indices(group.holder.name);
    if (!same) continue;
    known = std::move(group);  // the later note saw more
    return;
  }
  holders.push_back(std::move(group));
}

model::Growth* growth_of(RuntimeEvidence& evidence, const std::string& phase, int device) {
  for (model::Growth& growth : evidence.growth) {
    if (growth.phase == phase && growth.device == device) return &growth;
  }
  for (model::Growth& growth : evidence.growth) {
    if (growth.phase == phase) return &growth;
  }
  return nullptr;
}

// A list of the last few tensors looks like growth to the hooks until it is full. It is growth only if some line of the
// script allocates more and more.
bool grows(const model::Growth& growth, const TensorGroup& group) {
  // Nothing stays, but each step needs more: something is made anew each time and is larger then.
  return group.line.empty() || growth.of_peak ||
         std::any_of(growth.lines.begin(), growth.lines.end(),
                     [&](const model::GrowingLine& line) { return line.line == group.line; });
}

// An autograd graph that holds something has no name.
bool is_named(const TensorGroup& group) { return !group.holder.name.empty(); }

// Whether it is one of many, such as a list holds: a few may be the last few.
bool is_in_a_container(const TensorGroup& group) {
  constexpr std::int64_t kMany = 8;
  return is_named(group) && group.holder.length >= kMany;
}

void apply_kept_across_steps(const notes::KeptAcrossSteps& note, const Blocks& blocks, RuntimeEvidence& evidence) {
  model::Growth* growth = growth_of(evidence, note.phase, device_of(note.tensors, note.at_ns, blocks));
  if (growth == nullptr && note.graphs.empty()) return;
  if (growth == nullptr) {  // a graph gets longer while its tensors are freed: there is no growth in bytes to add it to
    growth = &evidence.growth.emplace_back();
    growth->phase = note.phase;
  }
  std::vector<TensorGroup> with_graphs;
  for (TensorGroup& group : with_lines(note.tensors, note.at_ns, blocks)) {
    if (grows(*growth, group)) {
      add_holder(growth->holders, std::move(group));
    } else if (group.has_graph && is_in_a_container(group)) {
      with_graphs.push_back(std::move(group));
    }
  }
  // Small results that are kept also keep what was saved for their backward, which other lines made.
  if (std::ranges::none_of(growth->holders, is_named)) {
    for (TensorGroup& group : with_graphs) add_holder(growth->holders, std::move(group));
  }
  for (const notes::GrowingGraph& graph : note.graphs) {
    growth->graphs.push_back({graph.holder, graph.nodes_before, graph.nodes_after, graph.counted_all});
  }
}

bool is_of_line(const TensorGroup& group, const model::Growth& growth) {
  return std::ranges::find(growth.lines, group.line, &model::GrowingLine::line) != growth.lines.end();
}

// What was found at rises of memory tells the holders in loops that have no ends of steps to look at. The last of them
// saw most.
void apply_held_at_rises(const std::vector<notes::HeldAtRise>& rises, const Blocks& blocks, RuntimeEvidence& evidence) {
  for (model::Growth& growth : evidence.growth) {
    if (std::ranges::any_of(growth.holders, is_named)) continue;
    // Within a step the variables of whoever is at work hold what is let go of before the step ends; what lies in a
    // container stays there.
    const auto is_kept = [&](const TensorGroup& group) {
      return growth.unit == "pass" || (!group.holder.container.empty() && group.holder.container != "tuple");
    };
    std::vector<TensorGroup> found;
    for (auto rise = rises.rbegin(); rise != rises.rend() && found.empty(); ++rise) {
      found = with_lines(rise->tensors, rise->at_ns, blocks);
      std::erase_if(found, [&](const TensorGroup& group) {
        return !is_named(group) || !is_of_line(group, growth) || !is_kept(group);
      });
    }
    if (!found.empty()) growth.holders.clear();
    for (TensorGroup& group : found) add_holder(growth.holders, std::move(group));
  }
}

void apply_evaluation(const notes::EvaluationForward& note, RuntimeEvidence& evidence) {
  model::EvaluationForward call{
      note.phase,           note.root,      note.line,        note.grad_enabled, note.inference_mode,
      note.module_training, note.has_graph, note.saved_bytes, note.output_bytes, note.calls};
  for (model::EvaluationForward& known : evidence.evaluations) {
    if (known.phase != call.phase || known.root != call.root) continue;
    if (call.saved > known.saved) known = std::move(call);
    return;
  }
  evidence.evaluations.push_back(std::move(call));
}

void apply_kept_from_training(const notes::KeptFromTraining& note, const Blocks& blocks, RuntimeEvidence& evidence) {
  model::KeptFromTraining left;
  left.phase = note.phase;
  left.device = device_of(note.tensors, note.at_ns, blocks);
  left.allocated = note.allocated_bytes;
  left.gradients = note.gradient_bytes;
  left.tensors = with_lines(note.tensors, note.at_ns, blocks);
  const auto total = [](const model::KeptFromTraining& of) {
    std::int64_t sum = 0;
    for (const TensorGroup& group : of.tensors) sum += group.bytes.count();
    return sum;
  };
  for (model::KeptFromTraining& known : evidence.kept_from_training) {
    if (known.phase != left.phase || known.device != left.device) continue;
    if (total(left) > total(known)) known = std::move(left);
    return;
  }
  evidence.kept_from_training.push_back(std::move(left));
}

void apply_copy(const notes::NeedlessCopy& note, RuntimeEvidence& evidence) {
  model::NeedlessCopy copy{note.operation, note.line,   note.first_line, note.shape,
                           note.bytes,     note.copies, note.from_host};
  for (model::NeedlessCopy& known : evidence.copies) {
    if (known.operation != copy.operation || known.line != copy.line) continue;
    if (copy.bytes > known.bytes) known = std::move(copy);
    return;
  }
  evidence.copies.push_back(std::move(copy));
}

// The second note of a load, at the end of the first step, tells what was kept. A run that ended before has only the
// first.
void apply_checkpoint(const notes::CheckpointLoad& note, RuntimeEvidence& evidence) {
  model::CheckpointLoad load{note.line,          note.path,       note.map_location,
                             note.on_card_bytes, note.kept_bytes, note.holder.value_or(Holder{})};
  if (note.final) {
    for (model::CheckpointLoad& known : evidence.checkpoints) {
      if (known.line == load.line && known.path == load.path && known.on_card == load.on_card) {
        known = std::move(load);
        return;
      }
    }
  }
  evidence.checkpoints.push_back(std::move(load));
}

void apply_attention(const notes::AttentionScores& note, RuntimeEvidence& evidence) {
  model::AttentionScores scores{note.line, note.operation, note.shape, note.length, note.bytes, note.calls};
  for (model::AttentionScores& known : evidence.attention) {
    if (known.line != scores.line || known.operation != scores.operation) continue;
    if (scores.bytes >= known.bytes) known = std::move(scores);
    return;
  }
  evidence.attention.push_back(std::move(scores));
}

void apply_graph_kept(const notes::GraphKept& note, RuntimeEvidence& evidence) {
  (note.option == model::notes::GraphOption::kCreateGraph ? evidence.create_graph : evidence.retain_graph) = true;
  if (evidence.retain_graph_line.empty()) evidence.retain_graph_line = note.line;
}

void apply_weight_copy(const notes::WeightCopy& note, const Blocks& blocks, RuntimeEvidence& evidence) {
  model::WeightCopy copy{note.holder, blocks.find(note.address, note.at_ns).line, note.tensors, note.bytes};
  for (model::WeightCopy& known : evidence.weight_copies) {
    if (known.bytes == copy.bytes) {
      known = std::move(copy);
      return;
    }
  }
  evidence.weight_copies.push_back(std::move(copy));
}

void apply_notes_of_process(const model::Notes& notes, const Blocks& blocks, RuntimeEvidence& evidence) {
  evidence.measured |= !notes.diagnosed.empty();
  for (const auto& note : notes.kept_across_steps) apply_kept_across_steps(note, blocks, evidence);
  apply_held_at_rises(notes.held_at_rise, blocks, evidence);
  for (const auto& left : notes.kept_from_training) apply_kept_from_training(left, blocks, evidence);
  for (const auto& at_oom : notes.held_at_oom) {
    if (evidence.oom) evidence.oom->holders = with_lines(at_oom.tensors, at_oom.at_ns, blocks);
  }
  for (const auto& copy : notes.weight_copy) apply_weight_copy(copy, blocks, evidence);
  for (const auto& forward : notes.evaluation_forward) apply_evaluation(forward, evidence);
  for (const auto& copy : notes.needless_copy) apply_copy(copy, evidence);
  for (const auto& load : notes.checkpoint_load) apply_checkpoint(load, evidence);
  for (const auto& scores : notes.attention_scores) apply_attention(scores, evidence);
  for (const auto& kept : notes.graph_kept) apply_graph_kept(kept, evidence);
  for (const auto& input : notes.step_input) {
    evidence.inputs.push_back({input.phase, input.step, input.elements, input.shapes, Bytes(0)});
  }
}

}  // namespace

void apply_runtime_notes(std::span<const Recording> recordings, std::span<const CardHistory> histories,
                         RuntimeEvidence& evidence) {
  for (std::size_t process = 0; process < recordings.size(); ++process) {
    const Blocks blocks(recordings, histories, static_cast<int>(process));
    apply_notes_of_process(recordings[process].notes, blocks, evidence);
  }
  // One object may hold a few labels and large logits: the holder of most bytes is named first.
  for (model::Growth& growth : evidence.growth) {
    std::ranges::stable_sort(growth.holders, std::greater{}, [](const TensorGroup& group) { return group.bytes; });
  }
}

}  // namespace vramfit::facts
