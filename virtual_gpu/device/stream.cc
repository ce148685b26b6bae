#include "virtual_gpu/device/stream.h"

#include <algorithm>
#include <array>
#include <deque>
#include <mutex>

#include "virtual_gpu/device/clock.h"
#include "virtual_gpu/device/context.h"
#include "virtual_gpu/device/device.h"
#include "virtual_gpu/device/handle_set.h"
#include "virtual_gpu/device/pool.h"
#include "virtual_gpu/device/stream_types.h"
#include "virtual_gpu/ledger/ledger.h"

namespace vramfit::device {
namespace {

// The legacy default stream waits for every blocking stream of its card, and they for it: one horizon per card.
struct CardStreams {
  Stream legacy;
  Stream per_thread;
  std::atomic<int64_t> blocking_until{0};
  std::atomic<int64_t> all_until{0};
};

struct Streams {
  std::mutex lock;
  std::deque<Stream> made;
  std::vector<Stream*> reusable;
  std::deque<Event> events;
  std::vector<Event*> reusable_events;
  HandleSet stream_handles, event_handles;
  std::array<CardStreams, VF_MAX_CARDS> by_card;
  uint64_t next_id = 2 * VF_MAX_CARDS + 1;

  Streams() {
    for (int card = 0; card < VF_MAX_CARDS; ++card) {
      CardStreams& one = by_card[card];
      const auto id = static_cast<uint64_t>(card);
      one.legacy.facts = {.card = card, .flags = 0, .priority = 0, .id = 2 * id + 1, .is_default = true};
      one.per_thread.facts = {.card = card, .flags = 0, .priority = 0, .id = 2 * id + 2, .is_default = true};
      one.legacy.magic = one.per_thread.magic = kStreamMagic;
    }
  }
};

Streams& streams() {
  static auto* const kStreams = new Streams;  // outlives other libraries' destructors
  return *kStreams;
}

std::atomic<uint64_t> launches{0};

void raise(std::atomic<int64_t>& value, int64_t to) {
  int64_t old = value.load(std::memory_order_relaxed);
  while (old < to && !value.compare_exchange_weak(old, to, std::memory_order_relaxed)) {
  }
}

bool is_blocking(const Stream& stream) { return (stream.facts.flags & kStreamNonBlocking) == 0; }

CardStreams& card_of(const Stream& stream) { return streams().by_card[stream.facts.card]; }

// Work runs after what is before it in its stream and, for blocking streams, after the card's other blocking work.
void occupy(Stream& stream, int64_t duration_ns) {
  CardStreams& card = card_of(stream);
  int64_t start = std::max(host_now(), stream.busy_until.load(std::memory_order_relaxed));
  if (&stream == &card.legacy) start = std::max(start, card.blocking_until.load(std::memory_order_relaxed));
  if (is_blocking(stream)) start = std::max(start, card.legacy.busy_until.load(std::memory_order_relaxed));
  const int64_t end = start + duration_ns;
  raise(stream.busy_until, end);
  raise(card.all_until, end);
  if (is_blocking(stream)) raise(card.blocking_until, end);
  stream.fruitless_queries.store(0, std::memory_order_relaxed);
  note_submission();
}

// A queue holds so many launches; then the host waits for the oldest.
void limit_queue(const Stream& stream) {
  host_reaches(stream.busy_until.load(std::memory_order_relaxed) - kQueueDepth * kKernelNs);
}

// Each fruitless query makes the next one wait longer, so that a loop around a query ends.
bool has_passed(int64_t at, std::atomic<int64_t>& fruitless_queries) {
  if (at <= host_now()) return true;
  const int64_t queries = fruitless_queries.fetch_add(1, std::memory_order_relaxed) + 1;
  advance_host(kQueryNs * queries);
  if (at <= host_now()) return true;
  if (!has_caught_up()) return false;
  host_reaches(at);
  return true;
}

int64_t horizon(const Stream& stream) {
  const CardStreams& card = card_of(stream);
  const int64_t own = stream.busy_until.load(std::memory_order_relaxed);
  return &stream == &card.legacy ? std::max(own, card.blocking_until.load(std::memory_order_relaxed)) : own;
}

template <typename Object>
Object* obtain(std::vector<Object*>& reusable, std::deque<Object>& all, HandleSet& handles) {
  if (reusable.empty()) {
    Object* made = &all.emplace_back();
    handles.insert(made);
    return made;
  }
  Object* object = reusable.back();
  reusable.pop_back();
  return object;
}

}  // namespace

Stream* find_stream(void* handle) {
  const auto number = reinterpret_cast<uintptr_t>(handle);
  if (number <= 2) {
    CardStreams& card = streams().by_card[ledger::current_card()];
    return number == 2 ? &card.per_thread : &card.legacy;
  }
  if (!streams().stream_handles.contains(handle)) return nullptr;
  auto* stream = static_cast<Stream*>(handle);
  return stream->magic.load(std::memory_order_acquire) == kStreamMagic ? stream : nullptr;
}

Event* find_event(void* handle) {
  if (!streams().event_handles.contains(handle)) return nullptr;
  auto* event = static_cast<Event*>(handle);
  return event->magic.load(std::memory_order_acquire) == kEventMagic ? event : nullptr;
}

Error create_stream(int card, unsigned flags, int priority, void** handle) {
  if ((flags & ~kStreamNonBlocking) != 0) return Error::kInvalidValue;
  if (!ledger::touch(card)) return Error::kOutOfMemory;
  Streams& all = streams();
  const std::lock_guard guard(all.lock);
  Stream* stream = obtain(all.reusable, all.made, all.stream_handles);
  stream->facts.card = card;
  stream->facts.flags = flags;
  stream->facts.priority = std::clamp(priority, kGreatestPriority, kLeastPriority);
  stream->facts.id = all.next_id++;
  stream->facts.context = context_of_new();
  stream->busy_until = 0;
  stream->needs.clear();
  stream->magic.store(kStreamMagic, std::memory_order_release);
  *handle = stream;
  return Error::kNone;
}

Error destroy_stream(void* handle) {
  Stream* stream = reinterpret_cast<uintptr_t>(handle) <= 2 ? nullptr : find_stream(handle);
  if (stream == nullptr) return Error::kInvalidHandle;
  leave_capture(*stream);
  stream->magic.store(0, std::memory_order_release);
  const std::lock_guard guard(streams().lock);
  streams().reusable.push_back(stream);
  return Error::kNone;
}

void destroy_streams_of(const void* context) {
  std::vector<void*> streams_of_it, events_of_it;
  {
    Streams& all = streams();
    const std::lock_guard guard(all.lock);
    for (Stream& stream : all.made) {
      if (stream.magic == kStreamMagic && stream.facts.context == context) streams_of_it.push_back(&stream);
    }
    for (Event& event : all.events) {
      if (event.magic == kEventMagic && event.context == context) events_of_it.push_back(&event);
    }
  }
  for (void* stream : streams_of_it) destroy_stream(stream);
  for (void* event : events_of_it) destroy_event(event);
}

Error stream_facts(void* handle, StreamFacts* facts) {
  const Stream* stream = find_stream(handle);
  if (stream == nullptr) return Error::kInvalidHandle;
  *facts = stream->facts;
  return Error::kNone;
}

Error submit(void* handle, const Work& work) {
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return Error::kInvalidHandle;
  if (work.kind == WorkKind::kKernel && !ledger::charge_kernels(stream->facts.card)) return Error::kOutOfMemory;
  const Submission submission = submit_to_capture(*stream, work);
  if (submission.captured) return submission.error;
  if (work.kind == WorkKind::kKernel) count_launches(1);
  occupy(*stream, work.duration_ns);
  advance_host(kHostCallNs);
  limit_queue(*stream);
  perform(work);
  return Error::kNone;
}

void count_launches(uint64_t count) { launches.fetch_add(count, std::memory_order_relaxed); }

void enqueue(void* stream, int64_t duration_ns) {
  Work work;
  work.duration_ns = duration_ns;
  submit(stream, work);
}

Error query_stream(void* handle) {
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return Error::kInvalidHandle;
  if (const Error error = refuse_while_captured(*stream); error != Error::kNone) return error;
  return has_passed(horizon(*stream), stream->fruitless_queries) ? Error::kNone : Error::kNotReady;
}

Error synchronize_stream(void* handle) {
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return Error::kInvalidHandle;
  if (const Error error = refuse_while_captured(*stream); error != Error::kNone) return error;
  host_reaches(horizon(*stream));
  trim_to_thresholds(stream->facts.card);
  return Error::kNone;
}

Error synchronize_card(int card) {
  if (const Error error = refuse_while_card_is_captured(card); error != Error::kNone) return error;
  host_reaches(streams().by_card[card].all_until.load(std::memory_order_relaxed));
  trim_to_thresholds(card);
  return Error::kNone;
}

Error create_event(int card, unsigned flags, void** handle) {
  if (!ledger::touch(card)) return Error::kOutOfMemory;
  Streams& all = streams();
  const std::lock_guard guard(all.lock);
  Event* event = obtain(all.reusable_events, all.events, all.event_handles);
  event->card = card;
  event->flags = flags;
  event->context = context_of_new();
  event->completes_at = -1;
  event->fruitless_queries = 0;
  event->capture_id = 0;
  event->needs.clear();
  event->magic.store(kEventMagic, std::memory_order_release);
  *handle = event;
  return Error::kNone;
}

Error destroy_event(void* handle) {
  Event* event = find_event(handle);
  if (event == nullptr) return Error::kInvalidHandle;
  event->magic.store(0, std::memory_order_release);
  const std::lock_guard guard(streams().lock);
  streams().reusable_events.push_back(event);
  return Error::kNone;
}

bool is_event(void* handle) { return find_event(handle) != nullptr; }

Error record_event(void* handle, void* stream_handle, unsigned flags) {
  Event* event = find_event(handle);
  Stream* stream = find_stream(stream_handle);
  if (event == nullptr || stream == nullptr) return Error::kInvalidHandle;
  if (event->card != stream->facts.card) return Error::kInvalidHandle;  // as the runtime: one card for both
  const Submission submission = record_in_capture(*stream, *event, (flags & kExternal) != 0);
  if (submission.captured) return submission.error;
  occupy(*stream, kQueryNs);
  event->completes_at = stream->busy_until.load(std::memory_order_relaxed);
  event->fruitless_queries = 0;
  advance_host(kQueryNs);
  return Error::kNone;
}

Error wait_event(void* stream_handle, void* handle, unsigned flags) {
  Event* event = find_event(handle);
  Stream* stream = find_stream(stream_handle);
  if (event == nullptr || stream == nullptr) return Error::kInvalidHandle;
  const Submission submission = wait_in_capture(*stream, *event, (flags & kExternal) != 0);
  if (submission.captured) return submission.error;
  const int64_t at = event->completes_at.load(std::memory_order_relaxed);
  if (at < 0) return Error::kNone;  // never recorded: nothing to wait for
  raise(stream->busy_until, at);
  raise(card_of(*stream).all_until, at);
  if (is_blocking(*stream)) raise(card_of(*stream).blocking_until, at);
  return Error::kNone;
}

Error query_event(void* handle) {
  Event* event = find_event(handle);
  if (event == nullptr) return Error::kInvalidHandle;
  if (const Error error = check_unsafe_call(); error != Error::kNone) return error;
  if (const Error error = refuse_captured_event(*event); error != Error::kNone) return error;
  return has_passed(event->completes_at.load(std::memory_order_relaxed), event->fruitless_queries) ? Error::kNone
                                                                                                   : Error::kNotReady;
}

Error synchronize_event(void* handle) {
  Event* event = find_event(handle);
  if (event == nullptr) return Error::kInvalidHandle;
  if (const Error error = check_unsafe_call(); error != Error::kNone) return error;
  if (const Error error = refuse_captured_event(*event); error != Error::kNone) return error;
  host_reaches(event->completes_at.load(std::memory_order_relaxed));
  return Error::kNone;
}

Error elapsed_ms(void* from_handle, void* to_handle, float* ms) {
  *ms = 0;
  const Event* from = find_event(from_handle);
  const Event* to = find_event(to_handle);
  if (from == nullptr || to == nullptr) return Error::kInvalidHandle;
  if (((from->flags | to->flags) & kEventDisableTiming) != 0) return Error::kInvalidHandle;
  const int64_t begin = from->completes_at.load(std::memory_order_relaxed);
  const int64_t end = to->completes_at.load(std::memory_order_relaxed);
  if (begin < 0 || end < 0) return Error::kInvalidHandle;
  if (std::max(begin, end) > host_now()) return Error::kNotReady;
  *ms = static_cast<float>(static_cast<double>(end - begin) / 1e6);
  return Error::kNone;
}

}  // namespace vramfit::device

uint64_t vramfit_gpu_launches(void) { return vramfit::device::launches.load(std::memory_order_relaxed); }

void vramfit_gpu_launched(const char*) { vramfit::device::enqueue(nullptr, vramfit::device::kKernelNs); }
