// The exported C interface of include/vramfit/vramfit.h.
#include "block_listener.h"
#include "kernel_tally.h"
#include "line_watch.h"
#include "memory_gauge.h"
#include "python_frames.h"
#include "recorder.h"
#include "rise_watch.h"
#include "vramfit/hook_functions.h"
#include "vramfit/recording.h"
#include "vramfit/vramfit.h"

namespace vr = vramfit::recorder;

#define VRAMFIT_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

vf_record record_of(uint8_t kind) {
  vf_record record{};
  record.kind = kind;
  record.device = 255;
  return record;
}

}  // namespace

// Also the moment to check the reading of Python's frames: the hooks call it with the GIL held.
VRAMFIT_EXPORT int vramfit_api_version(void) {
  vr::PythonFrames::instance().ready();
  return 1;
}

VRAMFIT_EXPORT int vramfit_finds_lines(void) { return vr::PythonFrames::instance().ready() ? 1 : 0; }

VRAMFIT_EXPORT uint32_t vramfit_intern(const char* text) {
  vr::Recorder* recorder = vr::recorder();
  return recorder != nullptr && text != nullptr ? recorder->intern(text) : 0;
}

VRAMFIT_EXPORT void vramfit_mark(const char* text) {
  vr::Recorder* recorder = vr::recorder();
  if (recorder == nullptr || text == nullptr) return;
  vf_record record = record_of(VF_RECORD_MARK);
  record.text = recorder->intern(text);
  recorder->add(record, vr::Recorder::Line::kFind);
}

VRAMFIT_EXPORT void vramfit_set_phase(uint32_t phase) {
  const auto next = static_cast<uint8_t>(phase);
  if (vr::position().phase.load() == next) return;
  if (vr::Recorder* recorder = vr::recorder()) vr::kernel_tally().flush(*recorder);
  if (vr::recorder() != nullptr) vr::look_at_real_cards();
  if (vr::position().phase.exchange(next) == next) return;
  if (vr::Recorder* recorder = vr::recorder()) recorder->add(record_of(VF_RECORD_PHASE), vr::Recorder::Line::kNone);
}

VRAMFIT_EXPORT uint64_t vramfit_recorded(void) {
  const vr::Recorder* recorder = vr::recorder();
  return recorder != nullptr ? recorder->next_slot() : 0;
}

VRAMFIT_EXPORT void vramfit_relabel(uint64_t from, uint32_t before, uint32_t after) {
  vr::Recorder* recorder = vr::recorder();
  if (recorder == nullptr || from == 0) return;
  recorder->relabel(from, static_cast<uint8_t>(before), static_cast<uint8_t>(after));
}

VRAMFIT_EXPORT void vramfit_set_stage(uint32_t stage) {
  if (vr::position().stage.load() != stage) {
    if (vr::Recorder* recorder = vr::recorder()) vr::kernel_tally().flush(*recorder);
  }
  if (stage == VF_STAGE_BACKWARD) {
    vr::Recorder* recorder = vr::recorder();
    vr::position().backward_line = recorder != nullptr ? recorder->own_line() : 0;
  }
  vr::position().stage = static_cast<uint8_t>(stage);
}

VRAMFIT_EXPORT uint32_t vramfit_set_scope(uint32_t text_id) { return vr::position().scope.exchange(text_id); }

VRAMFIT_EXPORT void vramfit_set_line(uint32_t text_id) { vr::position().line = text_id; }

VRAMFIT_EXPORT uint32_t vramfit_own_line(void) {
  vr::Recorder* recorder = vr::recorder();
  return recorder != nullptr ? recorder->own_line() : 0;
}

VRAMFIT_EXPORT uint32_t vramfit_inherit_line(uint32_t text_id) { return vr::Recorder::inherit_line(text_id); }

VRAMFIT_EXPORT void vramfit_tag(uint64_t address, uint32_t owner, uint32_t text_id) {
  vr::Recorder* recorder = vr::recorder();
  if (recorder == nullptr) return;
  vf_record record = record_of(VF_RECORD_TAG);
  record.address = address;
  record.a = owner;
  record.text = text_id;
  recorder->add(record, vr::Recorder::Line::kNone);
}

VRAMFIT_EXPORT void vramfit_step(uint64_t number) {
  vr::Recorder* recorder = vr::recorder();
  if (recorder == nullptr) return;
  vr::kernel_tally().flush(*recorder);
  vr::look_at_real_cards();
  vf_record record = record_of(VF_RECORD_STEP);
  record.a = static_cast<int64_t>(number);
  recorder->add(record, vr::Recorder::Line::kNone);
}

VRAMFIT_EXPORT void vramfit_emit(uint8_t kind, uint8_t device, uint64_t address, int64_t size, int64_t a, int64_t b,
                                 const char* text) {
  vr::Recorder* recorder = vr::recorder();
  if (recorder == nullptr) return;
  vf_record record = record_of(kind);
  record.device = device;
  record.address = address;
  record.size = size;
  record.a = a;
  record.b = b;
  record.text = text != nullptr ? recorder->intern(text) : 0;
  // Segments are rare and worth a line; the streams of launches and multiply-adds are not.
  const bool rare = kind == VF_RECORD_SEGMENT_ALLOC || kind == VF_RECORD_OOM || kind == VF_RECORD_PIN;
  recorder->add(record, rare ? vr::Recorder::Line::kFind : vr::Recorder::Line::kNone);
}

VRAMFIT_EXPORT void vramfit_kernel(uint8_t device, const uint64_t* pointers, uint32_t count, int64_t most_each,
                                   int64_t bytes, int picks_rows, uint32_t one_by_one_bytes) {
  vr::Recorder* recorder = vr::recorder();
  if (recorder == nullptr) return;
  vr::kernel_tally().add(*recorder, device, {pointers, count}, {most_each, bytes, picks_rows != 0, one_by_one_bytes});
}

VRAMFIT_EXPORT void vramfit_note(const char* json) {
  vr::Recorder* recorder = vr::recorder();
  if (recorder != nullptr && json != nullptr) recorder->note(json);
}

VRAMFIT_EXPORT int64_t vramfit_memory(uint32_t device, uint32_t what) { return vr::memory_reading(device, what); }

VRAMFIT_EXPORT void vramfit_reset_peaks(void) { vr::reset_peaks(); }

VRAMFIT_EXPORT int vramfit_watch_lines(void* watch) { return vr::watch_lines(watch) ? 1 : 0; }

VRAMFIT_EXPORT int vramfit_watch_rise(void* watch, int64_t bytes, int64_t late_bytes, double seconds) {
  return vr::watch_rise(watch, bytes, late_bytes, seconds) ? 1 : 0;
}

VRAMFIT_EXPORT void vramfit_set_block_listener(vramfit_block_listener listener) { vr::set_block_listener(listener); }
