#include "verify/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

#include "model/number_text.h"
#include "model/recording.h"

namespace vramfit::verify {

using base::Bytes;

namespace {

// Every pair of them is looked at.
constexpr std::size_t kMostRecounted = 40000;
constexpr std::size_t kNeverGone = std::numeric_limits<std::size_t>::max();
constexpr double kOfLives = 0.005;  // the same blocks, perhaps for less long
// What a script holds of one micro-batch until the next has made its own is not read here.
constexpr double kOfMicroBatches = 0.05;
constexpr double kOfSecondRuns = 0.1;  // when a module runs again, and what it makes meanwhile, is read in two ways
// When the gradient of what a network puts out goes is read in two ways.
constexpr double kOfPartsWithin = 0.1;
constexpr double kOfTurns = 0.05;  // which parameters are updated together is read in two ways

// Twice the place of a record, so that something may happen between two.
constexpr std::size_t moment_of(std::size_t record) { return 2 * record; }

// A block of the recording: from one record to another. Under a plan it may live twice.
struct BlockLife {
  std::size_t born = 0, gone = kNeverGone;  // moments
  std::int64_t size = 0;
  std::uint8_t phase = 0, stage = 0, owner = VF_OWNER_UNKNOWN;
  std::string_view module;
  std::uint8_t used_in = phase;  // an input's: the phase of the first forward after it, which tells what it is for
};

// One forward and backward of training, and its end.
struct TrainingPass {
  std::size_t begin = 0, turn = 0, end = 0;
};

std::vector<BlockLife> read_lives(const model::Recording& recording, int device) {
  std::vector<BlockLife> lives;
  const auto find_living = [&](std::uint64_t address, std::map<std::uint64_t, std::size_t>& places) -> BlockLife* {
    const auto found = places.find(address);
    return found == places.end() ? nullptr : &lives[found->second];
  };
  std::map<std::uint64_t, std::size_t> places;
  for (std::size_t at = 0; at < recording.records.size(); ++at) {
    const vf_record& record = recording.records[at];
    if (record.kind == VF_RECORD_TAG) {  // a tag tells no card
      if (BlockLife* life = find_living(record.address, places)) life->owner = static_cast<std::uint8_t>(record.a);
    }
    if (record.device != device) continue;
    if (record.kind == VF_RECORD_BLOCK_FREE) {
      if (BlockLife* life = find_living(record.address, places)) life->gone = moment_of(at);
      places.erase(record.address);
    } else if (record.kind == VF_RECORD_BLOCK_ALLOC) {
      places[record.address] = lives.size();
      lives.push_back({moment_of(at), kNeverGone, record.size, record.phase, record.stage, VF_OWNER_UNKNOWN,
                       recording.text(record.scope)});
    }
  }
  for (std::size_t i = 0; i < lives.size(); ++i) {
    if (lives[i].owner != VF_OWNER_INPUT) continue;
    const auto after = lives.begin() + static_cast<std::ptrdiff_t>(i);
    const auto user =
        std::find_if(after, lives.end(), [](const BlockLife& life) { return life.stage == VF_STAGE_FORWARD; });
    if (user != lives.end()) lives[i].used_in = user->phase;
  }
  return lives;
}

std::vector<TrainingPass> read_passes(const std::vector<BlockLife>& lives) {
  std::vector<TrainingPass> passes;
  for (const BlockLife& life : lives) {
    if (life.phase != VF_PHASE_TRAIN) continue;
    const bool turned = !passes.empty() && passes.back().turn > 0;
    if (life.stage == VF_STAGE_FORWARD && (passes.empty() || turned)) passes.push_back({life.born, 0, 0});
    if (life.stage == VF_STAGE_BACKWARD && !passes.empty()) {
      if (!turned) passes.back().turn = life.born;
      passes.back().end = life.born;
    }
  }
  std::erase_if(passes, [](const TrainingPass& pass) { return pass.turn == 0; });
  return passes;
}

bool is_inside(std::string_view module, std::string_view outer) {
  return module == outer || (module.starts_with(outer) && module.substr(outer.size()).starts_with('.'));
}

// Workspaces of libraries are made in a pass as well, and stay: they are of no samples.
bool outlives_steps(const BlockLife& life, const std::vector<TrainingPass>& passes) {
  if (life.gone == kNeverGone) return true;
  const auto next = std::ranges::find_if(passes, [&](const TrainingPass& pass) { return pass.begin > life.born; });
  return next != passes.end() && life.gone > next->end;
}

bool is_of_samples(const BlockLife& life) {
  if (life.used_in != VF_PHASE_TRAIN || life.stage == VF_STAGE_OPTIMIZER) return false;
  return life.owner == VF_OWNER_UNKNOWN || life.owner == VF_OWNER_INPUT || life.owner == VF_OWNER_ACTIVATION;
}

// Every part of a batch but the first finds gradients from the pass' beginning on, and makes its own for a moment.
void add_up_gradients(const std::vector<TrainingPass>& passes, std::vector<BlockLife>& lives) {
  for (std::size_t i = 0, known = lives.size(); i < known; ++i) {
    if (lives[i].owner != VF_OWNER_GRADIENT || lives[i].phase != VF_PHASE_TRAIN) continue;
    const auto pass = std::ranges::find_if(
        passes, [&](const TrainingPass& one) { return one.begin <= lives[i].born && lives[i].born <= one.end; });
    if (pass == passes.end()) continue;
    BlockLife own = lives[i];
    own.gone = own.born + 1;
    lives[i].born = pass->begin;
    lives.push_back(own);
  }
}

std::int64_t size_of_part(const BlockLife& life, std::int64_t parts) {
  return std::max<std::int64_t>(life.size / parts, 512);
}

void take_fewer_samples(std::int64_t parts, const std::vector<TrainingPass>& passes, std::vector<BlockLife>& lives) {
  for (BlockLife& life : lives) {
    if (is_of_samples(life) && !outlives_steps(life, passes)) life.size = size_of_part(life, parts);
  }
  add_up_gradients(passes, lives);
}

// What one pass holds of its whole batch, where its network works on parts of it within its forward: the batch, what
// the network returns, and what the script makes of that outside of all modules. In backward that comes first, until
// anything goes that the network held; what is there then waits for the last part.
void split_within(std::int64_t parts, const TrainingPass& pass, const std::vector<TrainingPass>& passes,
                  std::vector<BlockLife>& lives) {
  const auto is_of_batch = [&](const BlockLife& life) { return is_of_samples(life) && !outlives_steps(life, passes); };
  const auto is_of_network = [&](const BlockLife& life) {
    return life.born >= pass.begin && life.born < pass.turn && !life.module.empty() && is_of_batch(life) &&
           life.owner != VF_OWNER_INPUT;
  };
  std::size_t first_gone = pass.end;
  const BlockLife* returned = nullptr;
  for (const BlockLife& life : lives) {
    if (!is_of_network(life)) continue;
    returned = &life;  // the last that it makes
    if (life.gone > pass.turn) first_gone = std::min(first_gone, life.gone);
  }
  for (BlockLife& life : lives) {
    if (!is_of_batch(life) || life.born < pass.begin || life.born > pass.end) continue;
    const bool is_of_parts = is_of_network(life) || (life.born >= pass.turn && life.born > first_gone);
    if (is_of_parts && &life != returned) {
      life.size = size_of_part(life, parts);
    } else if (life.born >= pass.turn && life.gone > first_gone) {
      life.gone = std::max(life.gone, pass.end);
    }
  }
}

// What modules make in evaluations is of parts too; there is no telling here what of it is returned.
void split_all_within(std::int64_t parts, const std::vector<TrainingPass>& passes, std::vector<BlockLife>& lives) {
  for (BlockLife& life : lives) {
    const bool is_evaluated = life.phase == VF_PHASE_VALIDATE || life.phase == VF_PHASE_TEST;
    const bool is_made = life.owner == VF_OWNER_UNKNOWN || life.owner == VF_OWNER_ACTIVATION;
    if (is_evaluated && is_made && !outlives_steps(life, passes) && !life.module.empty())
      life.size = size_of_part(life, parts);
  }
  for (const TrainingPass& pass : passes) split_within(parts, pass, passes, lives);
  add_up_gradients(passes, lives);
}

void release_gradients(std::vector<BlockLife>& lives) {
  for (BlockLife& life : lives) {
    if (life.owner == VF_OWNER_GRADIENT && life.phase == VF_PHASE_TRAIN) life.gone = life.born + 1;
  }
}

// The state of so many bytes of parameters is on the card at once, as python/vramfit/apply/offload_optimizer.py has it.
constexpr std::int64_t kTurn = std::int64_t{64} << 20;

// The share of the state that a step has on the card: of the gradients of the first pass, those of one turn.
double share_of_turn(const std::vector<BlockLife>& lives, const std::vector<TrainingPass>& passes) {
  std::int64_t all = 0, largest = 0;
  for (const BlockLife& life : lives) {
    if (life.owner != VF_OWNER_GRADIENT || passes.empty() || life.born > passes.front().end) continue;
    all += life.size;
    largest = std::max(largest, life.size);
  }
  return all > 0 ? std::min(1.0, static_cast<double>(std::max(kTurn, largest)) / static_cast<double>(all)) : 1;
}

// The state is nowhere but in steps, and there a share of it; so are the temporaries of updates.
void take_state_in_turns(double share, std::vector<BlockLife>& lives) {
  const auto is_of_step = [](const BlockLife& life) {
    return life.stage == VF_STAGE_OPTIMIZER && life.phase == VF_PHASE_TRAIN;
  };
  std::int64_t state = 0;
  std::vector<BlockLife> steps;  // each from its first birth to its last
  const BlockLife* before = nullptr;
  for (const BlockLife& life : lives) {
    if (life.owner == VF_OWNER_OPTIMIZER) state += life.size;
    if (is_of_step(life)) {
      const bool goes_on = before != nullptr && is_of_step(*before);
      if (!goes_on) steps.push_back(life);
      steps.back().gone = life.born + 1;
    }
    before = &life;
  }
  for (BlockLife& life : lives) {
    if (life.owner == VF_OWNER_OPTIMIZER) {
      life.size = 0;
    } else if (is_of_step(life) && life.gone != kNeverGone) {
      life.size = static_cast<std::int64_t>(share * static_cast<double>(life.size));
    }
  }
  for (BlockLife& step : steps) {
    step.owner = VF_OWNER_OPTIMIZER;
    step.size = static_cast<std::int64_t>(share * static_cast<double>(state));
  }
  lives.insert(lives.end(), steps.begin(), steps.end());
}

// What one module made in the forward of one pass.
struct ModuleRun {
  std::vector<std::size_t> made, held;  // places in the list of lives; of those made, what waits for backward
  std::size_t ended = 0;                // the last birth
  std::size_t again = 0;                // it runs again: what came after it is gone
};

ModuleRun find_module_run(const std::vector<BlockLife>& lives, std::string_view module, const TrainingPass& pass) {
  ModuleRun run;
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const BlockLife& life = lives[i];
    if (life.born < pass.begin || life.born >= pass.turn || !is_inside(life.module, module)) continue;
    run.made.push_back(i);
    run.ended = std::max(run.ended, life.born);
    if (life.gone > pass.turn && life.gone != kNeverGone) run.held.push_back(i);
  }
  // What it returns is the last of what it made and others hold.
  if (!run.held.empty()) run.held.pop_back();
  std::size_t first_gone = kNeverGone;
  for (const std::size_t i : run.held) first_gone = std::min(first_gone, lives[i].gone);
  run.again = pass.turn - 1;
  for (const BlockLife& life : lives) {
    const bool is_later = life.born > run.ended && life.born < pass.turn && life.gone < first_gone;
    if (is_later && !is_inside(life.module, module)) run.again = std::max(run.again, life.gone + 1);
  }
  return run;
}

// The most that a module has at once while it runs, by what it made itself.
std::int64_t most_within(const ModuleRun& run, const std::vector<BlockLife>& lives) {
  std::int64_t most = 0;
  for (const std::size_t now : run.made) {
    std::int64_t sum = 0;
    for (const std::size_t i : run.made) {
      if (lives[i].born <= lives[now].born && lives[i].gone > lives[now].born) sum += lives[i].size;
    }
    most = std::max(most, sum);
  }
  return most;
}

// The second run itself is one block more, for a moment: what it makes beyond what it holds.
void run_again(std::string_view module, const TrainingPass& pass, std::vector<BlockLife>& lives) {
  const ModuleRun run = find_module_run(lives, module, pass);
  if (run.held.empty()) return;
  const std::int64_t most = most_within(run, lives);
  std::int64_t held = 0;
  std::vector<BlockLife> second;
  for (const std::size_t i : run.held) {
    BlockLife again = lives[i];
    again.born = run.again;
    held += again.size;
    second.push_back(again);
    lives[i].gone = std::min(lives[i].gone, run.ended + 1);
  }
  const BlockLife meanwhile{run.again,      run.again + 1,     std::max<std::int64_t>(most - held, 0),
                            VF_PHASE_TRAIN, VF_STAGE_BACKWARD, VF_OWNER_UNKNOWN,
                            module};
  second.push_back(meanwhile);
  lives.insert(lives.end(), second.begin(), second.end());
}

class Reading {
 public:
  Reading(const model::Recording& recording, int device, const model::Plan& plan)
      : plan_(plan),
        lives_(read_lives(recording, device)),
        passes_(read_passes(lives_)),
        turn_(share_of_turn(lives_, passes_)) {}

  CountedForecast count() {
    CountedForecast counted;
    counted.tolerance = kOfLives;
    if (lives_.size() > kMostRecounted) counted.why_not = fmt::format("{} blocks are too many", lives_.size());
    for (const model::Change& change : plan_.changes) {
      if (counted.why_not.empty()) counted.why_not = apply(change, counted.tolerance);
    }
    if (!counted.why_not.empty()) return counted;
    for (const BlockLife& now : lives_) {
      std::int64_t sum = 0;
      for (const BlockLife& other : lives_) sum += other.born <= now.born && other.gone > now.born ? other.size : 0;
      counted.allocated = std::max(counted.allocated, Bytes(sum));
      Bytes& of_phase = counted.phases[std::string(model::phase_name(now.phase))];
      of_phase = std::max(of_phase, Bytes(sum));
    }
    return counted;
  }

 private:
  // Why it can't be counted here; empty: it is.
  std::string apply(const model::Change& change, double& tolerance) {
    if (change.technique == "allocator" || change.technique == "empty_cache") return "";
    if (change.technique == "release_gradients") return release_gradients(lives_), "";
    if (change.technique == "offload_optimizer") {
      const auto steps_in_backward = [](const model::Change& other) { return other.technique == "release_gradients"; };
      if (std::ranges::any_of(plan_.changes, steps_in_backward)) return "offload_optimizer with steps in backward";
      tolerance = std::max(tolerance, kOfTurns);
      return take_state_in_turns(turn_, lives_), "";
    }
    if (change.technique == "micro_batch") {
      const std::int64_t parts = model::find_integer(change, "accumulate").value_or(1);
      if (parts <= 1) return "micro_batch without accumulation";
      tolerance = std::max(tolerance, kOfMicroBatches);
      return take_fewer_samples(parts, passes_, lives_), "";
    }
    if (change.technique == "split_forward") {
      tolerance = std::max(tolerance, kOfPartsWithin);
      return split_all_within(model::find_integer(change, "parts").value_or(1), passes_, lives_), "";
    }
    if (change.technique != "checkpoint") return change.technique;
    if (model::find_text(change, "keep")) return "checkpoint that keeps products";
    const auto modules = model::find_names(change, "modules");
    for (const std::string& one : modules) {
      const auto is_around = [&](const std::string& other) { return other != one && is_inside(one, other); };
      if (std::ranges::any_of(modules, is_around)) return "checkpoints within checkpoints";
    }
    for (const TrainingPass& pass : passes_) {
      for (const std::string& module : modules) run_again(module, pass, lives_);
    }
    tolerance = std::max(tolerance, kOfSecondRuns);
    return "";
  }

  const model::Plan& plan_;
  std::vector<BlockLife> lives_;
  std::vector<TrainingPass> passes_;
  double turn_;
};

bool allocates_on(const model::Recording& recording, int device) {
  return std::ranges::any_of(recording.records, [&](const vf_record& record) {
    return record.kind == VF_RECORD_BLOCK_ALLOC && record.device == device;
  });
}

}  // namespace

CountedForecast count_forecast(std::span<const model::Recording> recordings, int device, const model::Plan& plan) {
  const model::Recording* only = nullptr;
  for (const model::Recording& recording : recordings) {
    if (!allocates_on(recording, device)) continue;
    if (only != nullptr) return {.why_not = "several processes on the card", .allocated = {}, .phases = {}};
    only = &recording;
  }
  if (only == nullptr) return {.why_not = "nothing was recorded of the card", .allocated = {}, .phases = {}};
  return Reading(*only, device, plan).count();
}

std::vector<std::string> check_forecast(const CountedForecast& counted, const ToldForecast& told) {
  if (!counted.why_not.empty()) return {};
  std::vector<std::string> wrong;
  const auto compare = [&](const std::string& what, Bytes is_told, Bytes is) {
    const auto apart = static_cast<double>(std::abs((is_told - is).count()));
    if (apart <= counted.tolerance * static_cast<double>(is.count())) return;
    wrong.push_back(fmt::format("{}: {} is told, {} counted", what, to_string(is_told), to_string(is)));
  };
  compare("allocated", told.allocated, counted.allocated);
  // The cache that PyTorch gives back is what phases differ by from what they allocate: the same for all.
  for (const auto& [phase, needs] : told.phases) {
    const auto found = counted.phases.find(phase);
    if (found != counted.phases.end()) {
      compare("allocated in " + phase, needs - (told.needs - told.allocated), found->second);
    } else {
      wrong.push_back(phase + " is told, and allocates nothing");
    }
  }
  if (told.needs < told.allocated) wrong.push_back("needs less than it allocates");
  if (told.uses < told.needs) wrong.push_back("uses less with plenty of memory than it needs");
  return wrong;
}

}  // namespace vramfit::verify
