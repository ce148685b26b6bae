// Writes a recording record by record, the way the recorder would: for tests.
#ifndef VRAMFIT_FACTS_TESTING_RECORDING_SCRIPT_H
#define VRAMFIT_FACTS_TESTING_RECORDING_SCRIPT_H

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ingest/testing/add_note.h"
#include "model/recording.h"

namespace vramfit::facts {

inline constexpr std::int64_t kMib = 1 << 20;

class RecordingScript {
 public:
  void at(std::uint8_t phase, std::uint8_t stage, std::string scope = "") {
    phase_ = phase;
    stage_ = stage;
    scope_ = scope.empty() ? 0 : intern(std::move(scope));
  }
  void on(std::uint8_t device) { device_ = device; }
  std::uint64_t alloc(std::int64_t mib) {
    const std::uint64_t address = next_address_;
    next_address_ += static_cast<std::uint64_t>(mib * kMib);
    allocated_ += mib * kMib;
    push(VF_RECORD_BLOCK_ALLOC, address, mib * kMib, allocated_, allocated_);
    return address;
  }
  void free(std::uint64_t address, std::int64_t mib) {
    allocated_ -= mib * kMib;
    push(VF_RECORD_BLOCK_FREE, address, mib * kMib, allocated_, allocated_);
  }
  void tag(std::uint64_t address, vf_owner owner) { push(VF_RECORD_TAG, address, 0, owner, 0); }
  void matmul(std::int64_t macs, std::int64_t bytes, vf_dtype dtype) { push(VF_RECORD_MATMUL, 0, dtype, macs, bytes); }
  void launches(std::int64_t count) { push(VF_RECORD_LAUNCHES, 0, 0, count, 0); }
  void passes(std::int64_t count, std::int64_t bytes, std::int64_t elements = 0) {
    push(VF_RECORD_LAUNCHES, 0, elements, count, bytes);
  }
  void copy(std::int64_t bytes, int kind) { push(VF_RECORD_COPY, 0, bytes, kind, 0); }  // cudaMemcpyKind
  void product(std::int64_t rows, std::int64_t columns, std::int64_t inner, std::int64_t bytes, vf_dtype dtype) {
    push(VF_RECORD_MATMUL, vf_shape_of(rows, columns, 1), dtype, rows * columns * inner, bytes);
  }
  void step() { push(VF_RECORD_STEP, 0, 0, ++steps_, 0); }
  void note(const char* json) { ingest::testing::add_note(recording_, json); }
  std::vector<model::Recording> take() {
    auto storage = std::make_shared<std::vector<vf_record>>(std::move(records_));
    recording_.records = *storage;
    recording_.storage = storage;
    return {recording_};
  }

 private:
  std::uint32_t intern(std::string text) {
    recording_.strings.push_back(std::move(text));
    return static_cast<std::uint32_t>(recording_.strings.size());
  }
  void push(std::uint8_t kind, std::uint64_t address, std::int64_t size, std::int64_t a, std::int64_t b) {
    vf_record record{};
    record.kind = kind;
    record.device = kind == VF_RECORD_STEP ? 255 : device_;
    record.phase = phase_;
    record.stage = stage_;
    record.scope = scope_;
    record.at_ns = ++now_;
    record.address = address;
    record.size = size;
    record.a = a;
    record.b = b;
    records_.push_back(record);
  }

  model::Recording recording_;
  std::vector<vf_record> records_;
  std::uint8_t device_ = 0, phase_ = 0, stage_ = 0;
  std::uint32_t scope_ = 0;
  std::uint64_t next_address_ = 1 << 30;
  std::int64_t allocated_ = 0, now_ = 0, steps_ = 0;
};

}  // namespace vramfit::facts

#endif
