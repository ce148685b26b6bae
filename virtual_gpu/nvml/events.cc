// Event sets: nothing ever happens to a virtual card, so who waits for an error gets none in the time it gives.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "virtual_gpu/nvml/answer.h"

namespace vramfit::nvml {
namespace {

constexpr unsigned long long kCriticalError = 8;  // nvmlEventTypeXidCriticalError

struct EventSet {};

// The sets that there are: a handle is looked up, not followed.
class EventSets {
 public:
  const EventSet* create() {
    const std::lock_guard guard(lock_);
    sets_.push_back(std::make_unique<EventSet>());
    return sets_.back().get();
  }
  bool has(const EventSet* set) {
    const std::lock_guard guard(lock_);
    return has_locked(set);
  }
  bool remove(const EventSet* set) {
    const std::lock_guard guard(lock_);
    const bool was_there = std::erase_if(sets_, [&](const auto& one) { return one.get() == set; }) > 0;
    removed_.notify_all();
    return was_there;
  }
  // Until the time is over or the set is gone.
  int wait(const EventSet* set, unsigned milliseconds) {
    std::unique_lock guard(lock_);
    if (!has_locked(set)) return kInvalidArgument;
    removed_.wait_for(guard, std::chrono::milliseconds(milliseconds), [&] { return !has_locked(set); });
    return kTimeout;
  }

 private:
  bool has_locked(const EventSet* set) const {
    return std::ranges::any_of(sets_, [&](const auto& one) { return one.get() == set; });
  }
  std::mutex lock_;
  std::condition_variable removed_;
  std::vector<std::unique_ptr<EventSet>> sets_;
};

// Never destroyed: a thread may wait while the process ends.
EventSets& event_sets() {
  static auto* const kSets = new EventSets;
  return *kSets;
}

}  // namespace
}  // namespace vramfit::nvml

using vramfit::nvml::Handle;
namespace nvml = vramfit::nvml;

VF_ABI int nvmlEventSetCreate(const nvml::EventSet** set) {
  if (set == nullptr) return nvml::kInvalidArgument;
  if (nvml::ledger_if_initialised() == nullptr) return nvml::why_no_ledger();
  *set = nvml::event_sets().create();
  return nvml::kSuccess;
}

VF_ABI int nvmlEventSetFree(const nvml::EventSet* set) {
  return nvml::event_sets().remove(set) ? nvml::kSuccess : nvml::kInvalidArgument;
}

VF_ABI int nvmlDeviceGetSupportedEventTypes(Handle handle, unsigned long long* types) {
  return nvml::tell(handle, types, nvml::kCriticalError);
}

VF_ABI int nvmlDeviceRegisterEvents(Handle handle, unsigned long long types, const nvml::EventSet* set) {
  if (const int answer = nvml::why_not(handle); answer != nvml::kSuccess) return answer;
  if (!nvml::event_sets().has(set)) return nvml::kInvalidArgument;
  return (types & ~nvml::kCriticalError) == 0 ? nvml::kSuccess : nvml::kNotSupported;
}

VF_ABI int nvmlEventSetWait(const nvml::EventSet* set, void* data, unsigned milliseconds) {
  return data == nullptr ? nvml::kInvalidArgument : nvml::event_sets().wait(set, milliseconds);
}

VF_ABI int nvmlEventSetWait_v2(const nvml::EventSet* set, void* data, unsigned milliseconds) {
  return nvmlEventSetWait(set, data, milliseconds);
}
