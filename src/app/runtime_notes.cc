#include "app/runtime_notes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "liveness/step_memory.h"
#include "model/note_fields.h"

namespace vramfit::app {

using base::Bytes;
using liveness::CardHistory;
using model::flag_of;
using model::HeldTensors;
using model::Holder;
using model::integer_of;
using model::list_of;
using model::Note;
using model::Recording;
using model::RuntimeEvidence;
using model::text_of;
using nlohmann::json;

namespace {

// Sizes of one card: anything beyond is damage.
Bytes bytes_of(const json& fields, const char* name) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  return Bytes(std::clamp<std::int64_t>(integer_of(fields, name), 0, kMost));
}

Holder holder_of(const json& fields) {
  Holder holder;
  const auto field = fields.find("holder");
  if (field == fields.end() || !field->is_object()) return holder;
  holder.kind = text_of(*field, "kind");
  holder.name = text_of(*field, "name");
  holder.where = text_of(*field, "where");
  holder.container = text_of(*field, "container");
  holder.length = integer_of(*field, "length", -1);
  for (const json& link : list_of(*field, "chain")) {
    if (link.is_string()) holder.chain.push_back(link.get<std::string>());
  }
  return holder;
}

// The script's line of the block that a process had at an address when it wrote a note, and the card it was on.
struct Found {
  std::string line;
  int device = 0;
};

class Blocks {
 public:
  Blocks(std::span<const Recording> recordings, std::span<const CardHistory> histories, int process)
      : recordings_(recordings), histories_(histories), process_(process) {}

  Found find(const json& fields, std::int64_t at_ns) const {
    const auto address = fields.find("address");
    if (address == fields.end() || !address->is_number_integer()) return {};
    for (const CardHistory& history : histories_) {
      const liveness::Block* block =
          block_at(history, process_, address->get<std::uint64_t>(), event_at(history, at_ns));
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

std::vector<HeldTensors> tensors_of(const json& fields, const Blocks& blocks) {
  std::vector<HeldTensors> tensors;
  const std::int64_t at_ns = integer_of(fields, "at_ns");
  for (const json& entry : list_of(fields, "tensors")) {
    if (!entry.is_object()) continue;
    HeldTensors held;
    held.holder = holder_of(entry);
    held.line = blocks.find(entry, at_ns).line;
    if (held.line.empty()) held.line = text_of(entry, "line");
    held.shape = text_of(entry, "shape");
    held.tensors = integer_of(entry, "tensors");
    held.bytes = bytes_of(entry, "bytes");
    held.has_graph = flag_of(entry, "has_graph");
    held.operation = text_of(entry, "operation");
    tensors.push_back(std::move(held));
  }
  return tensors;
}

// Where a note tells of no card: the one that its first tensor is on.
int device_of(const json& fields, const Blocks& blocks) {
  for (const json& entry : list_of(fields, "tensors")) {
    const Found found = blocks.find(entry, integer_of(fields, "at_ns"));
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

void add_holder(std::vector<HeldTensors>& holders, HeldTensors held) {
  for (HeldTensors& known : holders) {
    const bool same = known.shape == held.shape && known.holder.kind == held.holder.kind &&
                      without_indices(known.holder.name) == without_indices(held.holder.name);
    if (!same) continue;
    known = std::move(held);  // the later note saw more
    return;
  }
  holders.push_back(std::move(held));
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

// A window of the last few tensors looks like growth to the hooks for a while: what doesn't grow by line doesn't count.
bool grows(const model::Growth& growth, const HeldTensors& held) {
  return held.line.empty() || std::any_of(growth.lines.begin(), growth.lines.end(),
                                          [&](const model::GrowingLine& line) { return line.line == held.line; });
}

void apply_held(const json& fields, const Blocks& blocks, RuntimeEvidence& evidence) {
  std::vector<HeldTensors> tensors = tensors_of(fields, blocks);
  model::Growth* growth = growth_of(evidence, text_of(fields, "phase"), device_of(fields, blocks));
  const json& graphs = list_of(fields, "graphs");
  if (growth == nullptr && graphs.empty()) return;
  if (growth == nullptr) {  // a graph that gets longer while its tensors are freed: no bytes to speak of
    growth = &evidence.growth.emplace_back();
    growth->phase = text_of(fields, "phase");
  }
  for (HeldTensors& held : tensors) {
    if (grows(*growth, held)) add_holder(growth->holders, std::move(held));
  }
  for (const json& entry : graphs) {
    if (!entry.is_object()) continue;
    growth->graphs.push_back({holder_of(entry), integer_of(entry, "nodes_before"), integer_of(entry, "nodes_after"),
                              flag_of(entry, "counted_all")});
  }
}

void apply_evaluation(const json& fields, RuntimeEvidence& evidence) {
  model::EvaluationForward call{text_of(fields, "phase"),          text_of(fields, "root"),
                                text_of(fields, "line"),           flag_of(fields, "grad_enabled"),
                                flag_of(fields, "inference_mode"), flag_of(fields, "module_training"),
                                flag_of(fields, "has_graph"),      bytes_of(fields, "saved_bytes"),
                                bytes_of(fields, "output_bytes"),  integer_of(fields, "calls")};
  for (model::EvaluationForward& known : evidence.evaluations) {
    if (known.phase != call.phase || known.root != call.root) continue;
    if (call.saved > known.saved) known = std::move(call);
    return;
  }
  evidence.evaluations.push_back(std::move(call));
}

void apply_leftovers(const json& fields, const Blocks& blocks, RuntimeEvidence& evidence) {
  model::Leftovers left;
  left.phase = text_of(fields, "phase");
  left.device = device_of(fields, blocks);
  left.allocated = bytes_of(fields, "allocated_bytes");
  left.gradients = bytes_of(fields, "gradient_bytes");
  left.tensors = tensors_of(fields, blocks);
  const auto total = [](const model::Leftovers& of) {
    std::int64_t sum = 0;
    for (const HeldTensors& held : of.tensors) sum += held.bytes.count();
    return sum;
  };
  for (model::Leftovers& known : evidence.leftovers) {
    if (known.phase != left.phase || known.device != left.device) continue;
    if (total(left) > total(known)) known = std::move(left);
    return;
  }
  evidence.leftovers.push_back(std::move(left));
}

void apply_copy(const json& fields, RuntimeEvidence& evidence) {
  model::NeedlessCopy copy{text_of(fields, "operation"), text_of(fields, "line"),   text_of(fields, "first_line"),
                           text_of(fields, "shape"),     bytes_of(fields, "bytes"), integer_of(fields, "copies"),
                           flag_of(fields, "from_host")};
  for (model::NeedlessCopy& known : evidence.copies) {
    if (known.operation != copy.operation || known.line != copy.line) continue;
    if (copy.bytes > known.bytes) known = std::move(copy);
    return;
  }
  evidence.copies.push_back(std::move(copy));
}

// The note at the end of the first step knows what was kept; a run that never came there has only the first one.
void apply_checkpoint(const json& fields, RuntimeEvidence& evidence) {
  model::CheckpointLoad load{text_of(fields, "line"),         text_of(fields, "path"),
                             text_of(fields, "map_location"), bytes_of(fields, "on_card_bytes"),
                             bytes_of(fields, "kept_bytes"),  holder_of(fields)};
  if (flag_of(fields, "final")) {
    for (model::CheckpointLoad& known : evidence.checkpoints) {
      if (known.line == load.line && known.path == load.path && known.on_card == load.on_card) {
        known = std::move(load);
        return;
      }
    }
  }
  evidence.checkpoints.push_back(std::move(load));
}

void apply_attention(const json& fields, RuntimeEvidence& evidence) {
  model::AttentionScores scores{text_of(fields, "line"),   text_of(fields, "operation"),
                                text_of(fields, "shape"),  integer_of(fields, "length"),
                                bytes_of(fields, "bytes"), integer_of(fields, "calls")};
  for (model::AttentionScores& known : evidence.attention) {
    if (known.line != scores.line || known.operation != scores.operation) continue;
    if (scores.bytes >= known.bytes) known = std::move(scores);
    return;
  }
  evidence.attention.push_back(std::move(scores));
}

void apply_graph_kept(const json& fields, RuntimeEvidence& evidence) {
  (text_of(fields, "option") == "create_graph" ? evidence.create_graph : evidence.retain_graph) = true;
  if (evidence.retain_graph_line.empty()) evidence.retain_graph_line = text_of(fields, "line");
}

void apply_step_input(const json& fields, RuntimeEvidence& evidence) {
  evidence.inputs.push_back({text_of(fields, "phase"), integer_of(fields, "step"), integer_of(fields, "elements"),
                             text_of(fields, "shapes"), Bytes(0)});
}

void apply_weight_copy(const json& fields, const Blocks& blocks, RuntimeEvidence& evidence) {
  const Found found = blocks.find(fields, integer_of(fields, "at_ns"));
  model::WeightCopy copy{holder_of(fields), found.line, integer_of(fields, "tensors"), bytes_of(fields, "bytes")};
  for (model::WeightCopy& known : evidence.weight_copies) {
    if (known.bytes == copy.bytes) {
      known = std::move(copy);
      return;
    }
  }
  evidence.weight_copies.push_back(std::move(copy));
}

void apply_at_oom(const json& fields, const Blocks& blocks, RuntimeEvidence& evidence) {
  if (evidence.oom) evidence.oom->holders = tensors_of(fields, blocks);
}

using Apply = std::function<void(const json&, const Blocks&, RuntimeEvidence&)>;

template <void (*apply)(const json&, RuntimeEvidence&)>
void plain(const json& fields, const Blocks&, RuntimeEvidence& evidence) {
  apply(fields, evidence);
}

const std::map<std::string, Apply, std::less<>>& kinds() {
  static const std::map<std::string, Apply, std::less<>> kKinds = {
      {"diagnosed", [](const json&, const Blocks&, RuntimeEvidence& evidence) { evidence.measured = true; }},
      {"held", apply_held},
      {"leftovers", apply_leftovers},
      {"held_at_oom", apply_at_oom},
      {"weight_copy", apply_weight_copy},
      {"evaluation_forward", plain<apply_evaluation>},
      {"needless_copy", plain<apply_copy>},
      {"checkpoint_load", plain<apply_checkpoint>},
      {"attention_scores", plain<apply_attention>},
      {"graph_kept", plain<apply_graph_kept>},
      {"step_input", plain<apply_step_input>},
  };
  return kKinds;
}

}  // namespace

ProcessFacts read_process(const Recording& recording) {
  ProcessFacts facts;
  for (const Note& note : recording.notes) {
    if (note.kind == "process" || note.kind == "rank") {
      facts.rank = static_cast<int>(integer_of(note.fields, "rank"));
      facts.world_size = static_cast<int>(integer_of(note.fields, "world_size", 1));
      facts.local_rank = static_cast<int>(integer_of(note.fields, "local_rank", -1));
      if (const std::string role = text_of(note.fields, "role"); !role.empty()) facts.role = role;
    } else if (note.kind == "role") {
      facts.role = text_of(note.fields, "role");
    } else if (note.kind == "thread") {
      facts.threads.emplace_back(static_cast<std::uint32_t>(integer_of(note.fields, "thread")),
                                 text_of(note.fields, "role"));
    }
  }
  if (facts.role != "worker" && facts.world_size > 1) facts.role = "rank";
  return facts;
}

void apply_runtime_notes(std::span<const Recording> recordings, std::span<const CardHistory> histories,
                         RuntimeEvidence& evidence) {
  for (std::size_t process = 0; process < recordings.size(); ++process) {
    const Blocks blocks(recordings, histories, static_cast<int>(process));
    for (const Note& note : recordings[process].notes) {
      const auto apply = kinds().find(note.kind);
      if (apply != kinds().end()) apply->second(note.fields, blocks, evidence);
    }
  }
}

bool is_oom_report(std::string_view head) {
  return head.starts_with('{') && head.find("\"vramfit_report\"") != std::string_view::npos;
}

base::Result<RuntimeEvidence> read_oom_report(std::string_view text) {
  const json fields = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!fields.is_object() || integer_of(fields, "vramfit_report") != 1) {
    return base::fail(base::ErrorCode::kCorrupt, "this is no whole report of VRAMFIT_ON_OOM", {},
                      "the other files of its folder can be read without it");
  }
  RuntimeEvidence evidence;
  model::OomMoment& moment = evidence.oom.emplace();
  moment.device = static_cast<int>(integer_of(fields, "device"));
  moment.tried = bytes_of(fields, "tried");
  moment.allocated = bytes_of(fields, "allocated");
  moment.reserved = bytes_of(fields, "reserved");
  moment.holders =
      tensors_of(fields.contains("held") ? json{{"tensors", fields["held"]}} : json::object(), Blocks({}, {}, 0));
  return evidence;
}

}  // namespace vramfit::app
