#include "doctor/failure.h"

#include <algorithm>

#include "base/out_of_memory.h"
#include "model/oom_figures.h"

namespace vramfit::doctor {

using model::OomDevice;
using model::OomForm;
using model::OomMessage;
using model::Traceback;
using model::TracedException;

namespace {

bool same_speaker(const OomMessage& a, const OomMessage& b) {
  return a.speaker.rank == b.speaker.rank && a.speaker.process == b.speaker.process && a.at.file == b.at.file;
}

}  // namespace

bool is_of_host(const OomMessage& oom) { return oom.form == OomForm::kHost || oom.device == OomDevice::kHost; }

bool holds_line(const Traceback& traceback, const model::SourceLine& at) {
  if (traceback.at.file != at.file) return false;
  return std::any_of(traceback.exceptions.begin(), traceback.exceptions.end(), [&](const TracedException& exception) {
    return exception.first_line <= at.line && at.line <= exception.last_line;
  });
}

bool is_about_memory(const TracedException& exception) {
  if (mentions(exception.message, {"static tls block"})) return false;  // the loader's: a library came too late
  if (base::says_out_of_memory(exception.type) || base::says_out_of_memory(exception.message)) return true;
  // The question here is which traceback is meant, not whether memory ran out: the host's memory, and errors of
  // libraries that often mean it, count too.
  return mentions(exception.type, {"memoryerror"}) ||
         mentions(exception.message, {"not enough memory", "cannot allocate", "can't allocate", "alloc failed",
                                      "not_initialized", "cudnn", "cublas", "1eb", "cudacachingallocator"});
}

bool has_numbers(const OomMessage& oom) { return oom.tried && (oom.total || oom.allocated || oom.reserved); }

const OomMessage* choose_oom(const std::vector<const OomMessage*>& ooms) {
  if (ooms.empty()) return nullptr;
  std::size_t first = ooms.size() - 1;
  while (first > 0) {
    const bool seen = std::any_of(ooms.begin() + static_cast<std::ptrdiff_t>(first), ooms.end(),
                                  [&](const OomMessage* later) { return same_speaker(*ooms[first - 1], *later); });
    if (seen) break;
    --first;
  }
  for (std::size_t i = first; i < ooms.size(); ++i) {
    if (has_numbers(*ooms[i])) return ooms[i];
  }
  for (const OomMessage* oom : ooms) {
    if (has_numbers(*oom)) return oom;
  }
  return ooms[first];
}

const Traceback* traceback_of(const model::Evidence& texts, const OomMessage* oom) {
  if (oom != nullptr) {
    for (const Traceback& traceback : texts.tracebacks) {
      if (holds_line(traceback, oom->at)) return &traceback;
    }
  }
  const Traceback* nearest = nullptr;
  for (const Traceback& traceback : texts.tracebacks) {
    const bool speaks = traceback.truncated || traceback.exceptions.empty() ||
                        std::any_of(traceback.exceptions.begin(), traceback.exceptions.end(), is_about_memory);
    if (!speaks) continue;
    const bool before = oom == nullptr || traceback.at.file != oom->at.file || traceback.at.line <= oom->at.line;
    if (before || nearest == nullptr) nearest = &traceback;
  }
  if (nearest == nullptr && oom == nullptr && !texts.tracebacks.empty()) nearest = &texts.tracebacks.back();
  return nearest;
}

Stack stack_of(const Traceback& traceback, const OomMessage* oom) {
  Stack stack;
  // The exception that holds the message was raised first; what handled it or wrapped it was printed around it.
  std::size_t until = traceback.exceptions.size();
  for (std::size_t i = 0; i < traceback.exceptions.size(); ++i) {
    const TracedException& exception = traceback.exceptions[i];
    const bool holds = oom != nullptr && exception.first_line <= oom->at.line && oom->at.line <= exception.last_line;
    if (holds || (oom == nullptr && is_about_memory(exception))) {
      until = i + 1;
      break;
    }
  }
  // An original traceback (of a worker) is inside the message of the outer one: its frames are the inner ones.
  while (until < traceback.exceptions.size() &&
         traceback.exceptions[until].relation == model::TraceRelation::kOriginal) {
    ++until;
  }
  std::size_t from = until == 0 ? 0 : until - 1;
  while (from > 0 && traceback.exceptions[from].relation == model::TraceRelation::kOriginal) --from;
  for (std::size_t i = from; i < until; ++i) {
    const TracedException& exception = traceback.exceptions[i];
    for (const model::TraceFrame& frame : exception.frames) {
      stack.add(frame, {traceback.at.file, exception.first_line, exception.type});
    }
    stack.set_message(exception.message);
  }
  for (const model::PhaseMark& mark : traceback.marks) {
    if (mark.exception >= from && mark.exception < until) stack.add_mark(mark.kind);
  }
  return stack;
}

Stack stack_of(const model::RunResult& run) {
  Stack stack;
  const auto& frames = run.oom ? run.oom->stack : run.error ? run.error->stack : std::vector<model::StackFrame>();
  for (const model::StackFrame& frame : frames) {
    stack.add({frame.file, frame.line, frame.function, frame.code}, {"the run", 0, ""});
  }
  if (run.oom) stack.set_message(run.oom->message);
  return stack;
}

Terms terms_of(const OomMessage& oom) {
  const model::OomArithmetic& sums = oom.arithmetic;
  Terms terms;
  terms.tried = oom.tried;
  terms.tensor = sums.tensor ? sums.tensor : oom.tried;
  terms.total = oom.total;
  terms.free = oom.free;
  terms.allocated = oom.allocated;
  terms.reserved = sums.reserved ? sums.reserved : oom.reserved;
  terms.idle = sums.idle ? sums.idle : oom.unallocated;
  terms.live = sums.live ? sums.live : oom.allocated;
  terms.allowed = oom.allowed;
  terms.outside = sums.outside;
  terms.own_process = sums.own_process ? sums.own_process : oom.this_process;
  terms.context = model::held_outside_pytorch(oom);
  terms.others = sums.others;
  terms.private_pools = oom.private_pools;
  return terms;
}

bool has_room(const Terms& terms) {
  constexpr Bytes kLeast = Bytes::mib(32);
  return surely_above(terms.free, terms.tried) && terms.free->value - terms.tried->value >= kLeast &&
         terms.free->value.count() > terms.tried->value.count() * 3 / 2;
}

}  // namespace vramfit::doctor
