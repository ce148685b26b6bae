// Advice that several causes give. Each is offered only where it is not in force already; otherwise it is withheld with
// the place that shows so.
#ifndef VRAMFIT_DOCTOR_REMEDIES_H
#define VRAMFIT_DOCTOR_REMEDIES_H

#include <cstdint>
#include <optional>
#include <string>

#include "doctor/draft.h"
#include "doctor/scene.h"

namespace vramfit::doctor {

using model::Applicability;
using model::Fix;

void offer_fit(const Scene& scene, Draft& draft);
void offer_smaller_batch(const Scene& scene, Draft& draft);
void offer_mixed_precision(const Scene& scene, Draft& draft);
void offer_checkpointing(const Scene& scene, Draft& draft);
void offer_no_grad(const Scene& scene, Draft& draft, std::optional<model::Bytes> saves = std::nullopt);
void offer_expandable_segments(const Scene& scene, Draft& draft);
void offer_fewer_layers(Draft& draft);  // of llama.cpp and Ollama
void offer_shorter_context(std::int64_t tokens, Draft& draft);
void offer_smaller_quantization(Draft& draft);
void offer_smaller_blocks_of_vulkan(Draft& draft);
void offer_more_pages(Draft& draft);  // to a GPU of AMD's that shares the host's memory
// The same, where the text shows such a GPU (Strix Halo and its kin), or its driver's limit of such pages.
void offer_more_pages_to_apu(const Scene& scene, Draft& draft);

// What to give so that time, and not only one moment, can be judged.
void ask_for_snapshot(const Scene& scene, Draft& draft);
void ask_for_script(const Scene& scene, Draft& draft);
void ask_for_traceback(const Scene& scene, Draft& draft);

}  // namespace vramfit::doctor

#endif
