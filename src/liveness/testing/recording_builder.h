// Writes recordings for tests, one event a line, keeping PyTorch's two levels right by itself.
#ifndef VRAMFIT_LIVENESS_TESTING_RECORDING_BUILDER_H
#define VRAMFIT_LIVENESS_TESTING_RECORDING_BUILDER_H

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/recording.h"

namespace vramfit::liveness::testing {

class RecordingBuilder {
 public:
  std::uint8_t phase = VF_PHASE_TRAIN, stage = VF_STAGE_FORWARD, device = 0;
  std::uint32_t thread = 0;

  RecordingBuilder& at(std::int64_t ns) {
    now_ = ns;
    return *this;
  }
  RecordingBuilder& alloc(std::uint64_t address, std::int64_t size, const std::string& scope = "",
                          const std::string& line = "") {
    allocated_ += size;
    sizes_[address] = size;
    vf_record& record = push(VF_RECORD_BLOCK_ALLOC, address, size, allocated_, reserved_);
    record.scope = intern(scope);
    record.line = intern(line);
    return *this;
  }
  RecordingBuilder& free(std::uint64_t address) {
    const std::int64_t size = sizes_.contains(address) ? sizes_[address] : 0;
    sizes_.erase(address);
    allocated_ -= size;
    push(VF_RECORD_BLOCK_FREE, address, size, allocated_, reserved_);
    return *this;
  }
  RecordingBuilder& segment(std::uint64_t address, std::int64_t size) {
    reserved_ += size;
    used_ += size;
    push(VF_RECORD_SEGMENT_ALLOC, address, size, used_, 0);
    return *this;
  }
  RecordingBuilder& free_segment(std::uint64_t address, std::int64_t size) {
    reserved_ -= size;
    used_ -= size;
    push(VF_RECORD_SEGMENT_FREE, address, size, used_, 0);
    return *this;
  }
  RecordingBuilder& context(std::int64_t size) {
    used_ += size;
    push(VF_RECORD_CONTEXT, 0, size, used_, 0);
    return *this;
  }
  RecordingBuilder& tag(std::uint64_t address, vf_owner owner, const std::string& name = "") {
    vf_record& record = push(VF_RECORD_TAG, address, 0, owner, 0);
    record.text = intern(name);
    record.device = 255;  // whoever tags knows an address, not a card
    return *this;
  }
  RecordingBuilder& emit(std::uint8_t kind, std::int64_t size = 0, std::int64_t a = 0, const std::string& text = "") {
    push(kind, 0, size, a, 0).text = intern(text);
    return *this;
  }

  model::Recording build(int pid = 1) const {
    auto storage = std::make_shared<std::vector<vf_record>>(records_);
    model::Recording recording;
    recording.pid = pid;
    recording.records = *storage;
    recording.storage = storage;
    recording.strings = strings_;
    return recording;
  }

 private:
  vf_record& push(std::uint8_t kind, std::uint64_t address, std::int64_t size, std::int64_t a, std::int64_t b) {
    vf_record record{};
    record.kind = kind;
    record.device = device;
    record.thread = thread;
    record.phase = phase;
    record.stage = stage;
    record.at_ns = now_++;
    record.address = address;
    record.size = size;
    record.a = a;
    record.b = b;
    return records_.emplace_back(record);
  }
  std::uint32_t intern(const std::string& text) {
    if (text.empty()) return 0;
    for (std::size_t i = 0; i < strings_.size(); ++i) {
      if (strings_[i] == text) return static_cast<std::uint32_t>(i + 1);
    }
    strings_.push_back(text);
    return static_cast<std::uint32_t>(strings_.size());
  }

  std::vector<vf_record> records_;
  std::vector<std::string> strings_;
  std::map<std::uint64_t, std::int64_t> sizes_;
  std::int64_t now_ = 0, allocated_ = 0, reserved_ = 0, used_ = 0;
};

}  // namespace vramfit::liveness::testing

#endif
