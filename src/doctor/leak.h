// What piles up, by whatever shows it, so that a cure for something else is weighed by what it would buy: so many more
// steps until the pile has filled that too.
#ifndef VRAMFIT_DOCTOR_LEAK_H
#define VRAMFIT_DOCTOR_LEAK_H

#include <optional>
#include <string>

#include "doctor/draft.h"
#include "doctor/scene.h"

namespace vramfit::doctor {

struct Leak {
  std::string what;        // who holds it or which line makes it
  Bytes per_step;          // or of one of the tensors that were piled up
  std::int64_t steps = 0;  // that it had gone on for
};

// A container of many tensors of one kind is made by many steps; so are the live blocks of one line that are spread
// over the whole trace and hardly ever freed.
bool is_piled_up(const model::TensorGroup& held, Bytes allocated);
bool is_piled_up(const CallSite& site, const SnapshotFacts& facts);
// How many of a line's live blocks are kept, those from before the trace too: as many of those as of the ones in the
// trace, or all, where what stays of the line rises through it.
std::int64_t blocks_piled_up(const CallSite& site);
Bytes piled_up(const CallSite& site);

std::optional<Leak> find_leak(const Scene& scene);

// A run that was cut says so, and neither blames nor clears, before growth can be told from what a few steps do.
inline constexpr std::int64_t kStepsToBlame = 12, kStepsToClear = 12;
// Passes that nobody counts but by what came round are told of after more.
inline constexpr std::int64_t kPassesToClear = 24;
inline constexpr double kCutTooShort = 0.3;
std::string words_of_short_cut(const Scene& scene);

// A line of the script fills what is kept: where what a step needs grows, it is made of itself and more.
bool is_joined_on(const model::Growth& growth);

// What a step needs rises with the batches, and nothing that is kept is made of itself: the batches are it, and no
// leak.
bool follows_its_inputs(const model::Growth& growth, const Scene& scene);

// The most that a deque with a maxlen comes to hold, as words ("bounded: 60000 entries at most, 938 MiB"), where it is
// what grows and is full before the card is. Nothing otherwise.
std::optional<std::string> find_bound(const model::Growth& growth, const Scene& scene);

// It would take a million steps or more until the card is full: the list of scalars that a job keeps of its losses.
bool is_too_little_to_matter(const model::Growth& growth, const Scene& scene);

// The steps that this much more memory would last for.
std::int64_t steps_bought(const Leak& leak, Bytes bytes);

bool has_holder(const model::Growth& growth);  // one with a name
bool is_told(const model::Holder& holder);     // by its name, or by what kind of thing it is
bool is_of_passes(const model::Growth& growth);
std::string units_of(const model::Growth& growth);   // "steps"
std::string rhythm_of(const model::Growth& growth);  // "128 KiB every 5 steps"
// "; the card is full at about step 4000"; empty where nobody knows.
std::string when_full(const model::Growth& growth);

// Hooks that are registered in a loop keep what each of them holds. Nothing is offered where no hook holds it.
void offer_for_hooks(const model::Growth& growth, Draft& draft);

// What Python's collector has to do with it: that it is off, or what it freed of that to which no name leads.
void tell_collector(const model::Growth& growth, const model::RuntimeEvidence& runtime, Draft& draft);

}  // namespace vramfit::doctor

#endif
