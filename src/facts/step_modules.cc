// Each module's part in the fullest training step: from when its memory was allocated and freed.
//
//   forward    |--- a ---|--- b ---|--- c ---| loss      a module begins with its first allocation
//   backward         | c's last one freed | b's | a's    and its backward ends when nothing of its forward is left
//
// What is freed by running b again: what it allocated and still held when forward ended, less what it hands on, less
// what it was given and nobody else keeps.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "facts/job_builder.h"
#include "facts/recordings.h"
#include "facts/step_window.h"

namespace vramfit::facts {
namespace {

using base::Bytes;
using liveness::Block;
using liveness::CardHistory;
using liveness::EventIndex;
using liveness::kNever;

// Sizes of tensors and of their blocks differ by rounding; a note and a step may be of batches of other sizes.
constexpr double kSameBytes = 0.02;

struct Part {
  std::string name;
  int parent = -1;
  const model::notes::ModuleMemory* note = nullptr;
  EventIndex begin = kNever, last = 0;  // its first and last allocation in forward
  EventIndex next = 0;                  // where what comes after it begins
  EventIndex released = 0;              // in backward; 0: holds nothing
  Bytes saved;                          // from its forward to its backward
  Bytes borrowed;                       // what it was given and would be gone without it
  Bytes products;                       // of its forward
  double macs = 0, bytes = 0, operators = 0;
};

class PartFinder {
 public:
  PartFinder(const RunFacts& facts, const CardHistory& history, const StepWindow& window)
      : facts_(facts), history_(history), window_(window) {}

  std::vector<Part> find() && {
    read_notes_of_modules();
    for (const Block& block : history_.blocks) add_block(block);
    add_work();
    drop_the_unseen();
    order();
    drop_the_interleaved();
    set_next();
    for (const Block& block : history_.blocks) add_borrowed(block);
    return std::move(parts_);
  }

 private:
  void read_notes_of_modules() {
    for (const model::Recording& recording : recordings_of(facts_)) {
      for (const auto& note : recording.notes.module_memory) {
        if (note.name.empty()) continue;
        const auto [known, is_new] = places_.emplace(note.name, static_cast<int>(parts_.size()));
        if (is_new) parts_.push_back({note.name, -1, &note});
        Part& part = parts_[static_cast<std::size_t>(known->second)];
        if (note.saved_bytes > part.note->saved_bytes) part.note = &note;
      }
    }
  }

  // The known modules around a scope, innermost first.
  const std::vector<int>& parts_around(int process, std::uint32_t scope) {
    const auto [known, is_new] = around_.emplace(std::pair(process, scope), std::vector<int>());
    if (!is_new || scope == 0) return known->second;
    std::string_view name = recordings_of(facts_)[static_cast<std::size_t>(process)].text(scope);
    while (!name.empty()) {
      const auto place = places_.find(name);
      if (place != places_.end()) known->second.push_back(place->second);
      const auto dot = name.rfind('.');
      name = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
    }
    return known->second;
  }

  bool is_of_forward(const Block& block) const { return block.born >= window_.begin && block.born < window_.turn; }

  void add_block(const Block& block) {
    if (!is_of_forward(block)) return;
    const bool is_held = block.died > window_.turn && block.died <= window_.end;
    for (const int place : parts_around(block.process, block.scope)) {
      Part& part = parts_[static_cast<std::size_t>(place)];
      part.begin = std::min(part.begin, block.born);
      part.last = std::max(part.last, block.born);
      part.bytes += static_cast<double>(block.size.count());
      part.operators += 1;
      if (block.product) part.products += block.size;
      if (!is_held) continue;
      part.saved += block.size;
      part.released = std::max(part.released, block.died);
    }
  }

  // All steps' forwards alike: the card's stream has no work in it, so it is the mean.
  void add_work() {
    for (std::size_t process = 0; process < recordings_of(facts_).size(); ++process) {
      double steps = 0;
      std::map<int, double> macs;
      for (const vf_record& record : recordings_of(facts_)[process].records) {
        if (record.phase != VF_PHASE_TRAIN) continue;
        steps += record.kind == VF_RECORD_STEP ? 1 : 0;
        const bool is_work = record.kind == VF_RECORD_MATMUL || record.kind == VF_RECORD_CONVOLUTION;
        if (!is_work || record.stage != VF_STAGE_FORWARD) continue;
        for (const int place : parts_around(static_cast<int>(process), record.scope)) {
          macs[place] += static_cast<double>(record.a);
        }
      }
      for (const auto& [place, sum] : macs) parts_[static_cast<std::size_t>(place)].macs += sum / std::max(1.0, steps);
    }
  }

  void drop_the_unseen() {
    std::erase_if(parts_, [](const Part& part) { return part.begin == kNever; });
  }

  // Orders the modules by the time they began; of those that began at once, the outer one comes first.
  void order() {
    std::ranges::sort(parts_, {}, [](const Part& part) { return std::tuple(part.begin, part.name.size()); });
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].parent = find_parent(i);
  }

  int find_parent(std::size_t of) const {
    int best = -1;
    std::size_t longest = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::string& outer = parts_[i].name;
      const std::string& name = parts_[of].name;
      const bool is_inside = name.size() > outer.size() && name.starts_with(outer) && name[outer.size()] == '.';
      if (is_inside && outer.size() > longest) {
        best = static_cast<int>(i);
        longest = outer.size();
      }
    }
    return best;
  }

  // A module that runs again after its sibling began has no one place in the order: it is left to the one around it.
  void drop_the_interleaved() {
    std::set<std::string, std::less<>> dropped;
    std::map<int, const Part*> before;
    for (const Part& part : parts_) {
      const Part*& sibling = before[part.parent];
      if (sibling != nullptr && sibling->last > part.begin) dropped.insert({sibling->name, part.name});
      if (sibling == nullptr || part.last > sibling->last) sibling = &part;
    }
    const auto is_dropped = [&](const Part& part) {
      return std::ranges::any_of(dropped, [&](const std::string& name) {
        return part.name == name || (part.name.starts_with(name) && part.name[name.size()] == '.');
      });
    };
    if (std::erase_if(parts_, is_dropped) > 0) order();
  }

  // Sets the module that comes after each: its next sibling, or what comes after the module around it.
  void set_next() {
    std::map<int, EventIndex> next;  // sibling's begin, by parent
    for (Part& part : parts_) part.next = 0;
    for (std::size_t i = parts_.size(); i-- > 0;) {
      const auto sibling = next.find(parts_[i].parent);
      if (sibling != next.end()) parts_[i].next = sibling->second;
      next[parts_[i].parent] = parts_[i].begin;
    }
    for (Part& part : parts_) {
      if (part.next == 0)
        part.next = part.parent < 0 ? window_.turn : parts_[static_cast<std::size_t>(part.parent)].last + 1;
    }
  }

  // Tensors that die while a module runs, or as its result takes their place, are those it was given.
  void add_borrowed(const Block& block) {
    if (!is_of_forward(block) || block.died >= window_.turn) return;
    for (Part& part : parts_) {
      const bool is_input = block.born < part.begin && block.died >= part.begin && block.died <= part.next;
      if (is_input) part.borrowed += block.size;
    }
  }

  const RunFacts& facts_;
  const CardHistory& history_;
  const StepWindow& window_;
  std::map<std::string, int, std::less<>> places_;
  std::map<std::pair<int, std::uint32_t>, std::vector<int>> around_;
  std::vector<Part> parts_;
};

// What it hands on stays, but for what nobody keeps: that was gone before forward ended.
Bytes find_kept(const Part& part) {
  const Bytes output = std::min(part.note->output_bytes, part.saved);
  const auto gone = static_cast<double>((part.note->saved_bytes - part.saved).count());
  const bool is_gone = gone > 0 && std::abs(gone - static_cast<double>(part.note->output_bytes.count())) <=
                                       kSameBytes * static_cast<double>(part.note->saved_bytes.count());
  return is_gone ? Bytes() : output;
}

// Walks the siblings of each module from the last to the first, as backward does.
class BackwardWalk {
 public:
  BackwardWalk(const CardHistory& history, const StepWindow& window, const std::vector<Part>& parts)
      : history_(history), parts_(parts), from_(parts.size(), 0), to_(parts.size(), 0) {
    std::map<int, std::vector<std::size_t>> children;
    for (std::size_t i = 0; i < parts.size(); ++i) children[parts[i].parent].push_back(i);
    walk(children[-1], window.turn, window.end);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (to_[i] > from_[i]) walk(children[static_cast<int>(i)], from_[i], to_[i]);
    }
  }

  bool runs(std::size_t i) const { return to_[i] > from_[i]; }
  Bytes peak(std::size_t i) const { return find_highest(history_, from_[i], to_[i]); }
  Bytes level_before(std::size_t i) const { return history_.levels[from_[i] - (from_[i] > 0 ? 1 : 0)].allocated; }

 private:
  // While one of the first modules has let go, no later one is counted on to hold anything: what is in progress is the
  // module before the first that has.
  void walk(const std::vector<std::size_t>& siblings, EventIndex from, EventIndex to) {
    std::vector<std::size_t> holders;
    std::ranges::copy_if(siblings, std::back_inserter(holders), [&](std::size_t i) { return parts_[i].released > 0; });
    std::vector<EventIndex> released;  // by this one or one before it, whichever came first
    EventIndex first = to;
    for (const std::size_t i : holders) released.push_back(first = std::min(first, parts_[i].released));
    for (std::size_t k = 0; k < holders.size(); ++k) {
      from_[holders[k]] = std::max(from, k + 1 < holders.size() ? released[k + 1] : from);
      to_[holders[k]] = k == 0 ? to : std::max(from_[holders[k]], released[k]);
    }
  }

  const CardHistory& history_;
  const std::vector<Part>& parts_;
  std::vector<EventIndex> from_, to_;
};

model::StepModule describe(const CardHistory& history, const Part& part, EventIndex begin, std::size_t index,
                           const BackwardWalk& backward) {
  const Bytes before = begin > 0 ? history.levels[begin - 1].allocated : Bytes();
  model::StepModule module;
  module.name = part.name;
  module.parent = part.parent;
  module.may_repeat = part.note->calls == 1;
  module.freed = part.saved - find_kept(part) - part.borrowed;
  module.forward_peak = find_highest(history, begin, part.last + 1);
  module.after_peak = find_highest(history, part.last + 1, part.next);
  module.products = part.products;
  module.macs = part.macs;
  module.bytes = part.bytes;
  module.operators = part.operators;
  if (!backward.runs(index)) return module;
  module.backward_peak = backward.peak(index);
  module.repeat_rise = std::max(backward.level_before(index) - module.freed - before, Bytes());
  module.repeat_peak = module.forward_peak + module.repeat_rise;
  return module;
}

// The first inside a module begins where that does: so nothing of it goes uncounted.
EventIndex begin_of(const std::vector<Part>& parts, std::size_t index, EventIndex first) {
  const int parent = parts[index].parent;
  for (std::size_t i = 0; i < index; ++i) {
    if (parts[i].parent == parent) return parts[index].begin;
  }
  return parent < 0 ? first : begin_of(parts, static_cast<std::size_t>(parent), first);
}

}  // namespace

std::optional<model::StepModules> find_step_modules(const RunFacts& facts, int device) {
  const CardHistory* history = facts.history_of(device);
  const auto window = history != nullptr ? find_fullest_step(*history) : std::nullopt;
  if (!window) return std::nullopt;
  const std::vector<Part> parts = PartFinder(facts, *history, *window).find();
  if (parts.empty()) return std::nullopt;
  const BackwardWalk backward(*history, *window, parts);
  model::StepModules step;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    step.modules.push_back(describe(*history, parts[i], begin_of(parts, i, window->begin), i, backward));
  }
  EventIndex ended = window->begin;
  for (const Part& part : parts) ended = std::max(ended, part.last + 1);
  step.end_peak = find_highest(*history, std::min(ended, window->turn), window->turn);
  step.peak = find_highest(*history, window->begin, window->end);
  return step;
}

}  // namespace vramfit::facts
