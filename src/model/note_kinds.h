// The kinds of notes that the hooks write (docs/architecture.md). A note of another kind, from hooks of another
// version, is kept and counted.
#ifndef VRAMFIT_MODEL_NOTE_KINDS_H
#define VRAMFIT_MODEL_NOTE_KINDS_H

#include <algorithm>
#include <array>
#include <string_view>

namespace vramfit::model {

inline constexpr std::array<std::string_view, 55> kNoteKinds{"assumed",
                                                             "attention_scores",
                                                             "checkpoint_load",
                                                             "coverage",
                                                             "cut",
                                                             "data_read",
                                                             "diagnosed",
                                                             "error",
                                                             "evaluation",
                                                             "evaluation_forward",
                                                             "framework_memory",
                                                             "graph_kept",
                                                             "growth",
                                                             "held",
                                                             "held_at_oom",
                                                             "hook_failed",
                                                             "input_module",
                                                             "late_growth",
                                                             "leftovers",
                                                             "lines_unknown",
                                                             "loader",
                                                             "looked",
                                                             "module_gradients",
                                                             "module_list",
                                                             "module_memory",
                                                             "module_states",
                                                             "module_trace",
                                                             "modules_watched",
                                                             "needless_copy",
                                                             "oom",
                                                             "open",
                                                             "optimizer",
                                                             "optimizer_begins",
                                                             "output",
                                                             "plan_applied",
                                                             "plan_effect",
                                                             "plan_refused",
                                                             "precision",
                                                             "process",
                                                             "rank",
                                                             "recording_stopped",
                                                             "role",
                                                             "root_module",
                                                             "run_on",
                                                             "server_memory",
                                                             "snapshot",
                                                             "step",
                                                             "step_input",
                                                             "thread",
                                                             "training_end",
                                                             "training_step",
                                                             "training_tensor",
                                                             "values",
                                                             "weight_copy",
                                                             "wide_layer"};

constexpr bool is_note_kind(std::string_view kind) { return std::ranges::find(kNoteKinds, kind) != kNoteKinds.end(); }

}  // namespace vramfit::model

#endif
