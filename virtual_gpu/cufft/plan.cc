// cuFFT plans, as PyTorch makes them: no automatic allocation, a work area of its own.
#include <map>
#include <memory>
#include <mutex>

#include "virtual_gpu/cufft/work_area.h"
#include "virtual_gpu/library/abi.h"
#include "virtual_gpu/library/data_type.h"
#include "virtual_gpu/library/work.h"

namespace library = vramfit::library;
namespace ledger = vramfit::ledger;
namespace cufft = vramfit::cufft;

namespace {

enum Status : int { kSuccess = 0, kInvalidPlan = 1, kAllocFailed = 2, kInvalidValue = 4, kSetupFailed = 7 };

struct Plan {
  library::Stream stream = nullptr;
  int64_t work_bytes = 0;
  bool allocates = true;
  void* work_area = nullptr;
};

// Plans are small integers to the caller.
struct Plans {
  std::mutex mutex;
  std::map<int, Plan> by_number;
  int next = 1;
};

Plans& plans() {
  static Plans* all = new Plans;  // plans outlive static destruction in caches of the caller's
  return *all;
}

template <typename Change>
int change(int number, Change&& apply) {
  Plans& all = plans();
  const std::scoped_lock lock(all.mutex);
  const auto found = all.by_number.find(number);
  if (found == all.by_number.end()) return kInvalidPlan;
  apply(found->second);
  return kSuccess;
}

}  // namespace

VF_ABI int cufftCreate(int* number) {
  if (number == nullptr) return kInvalidValue;
  *number = 0;
  if (ledger::state() != ledger::State::kReady) return kSetupFailed;
  if (!ledger::charge_use(ledger::current_card(), ledger::Library::kFft)) return kAllocFailed;
  Plans& all = plans();
  const std::scoped_lock lock(all.mutex);
  *number = all.next++;
  all.by_number.emplace(*number, Plan{});
  return kSuccess;
}

VF_ABI int cufftDestroy(int number) {
  Plans& all = plans();
  const std::scoped_lock lock(all.mutex);
  return all.by_number.erase(number) == 1 ? kSuccess : kInvalidPlan;
}

VF_ABI int cufftSetAutoAllocation(int number, int allocates) {
  return change(number, [&](Plan& plan) { plan.allocates = allocates != 0; });
}

VF_ABI int cufftSetStream(int number, library::Stream stream) {
  return change(number, [&](Plan& plan) { plan.stream = stream; });
}

VF_ABI int cufftSetWorkArea(int number, void* area) {
  return change(number, [&](Plan& plan) { plan.work_area = area; });
}

VF_ABI int cufftXtMakePlanMany(int number, int rank, long long* lengths, long long*, long long, long long,
                               int input_type, long long*, long long, long long, int output_type, long long batch,
                               size_t* work_size, int) {
  if (lengths == nullptr || work_size == nullptr || rank < 1 || rank > 3) return kInvalidValue;
  const bool is_real = !library::is_complex(input_type) || !library::is_complex(output_type);
  const int complex_type = library::is_complex(input_type) ? input_type : output_type;
  const int64_t bytes =
      cufft::work_bytes({lengths, lengths + rank}, batch, library::bytes_of(complex_type, 1), is_real);
  *work_size = static_cast<size_t>(bytes);
  ledger::note_assumed(
      "cuFFT work areas as cuFFT 12.0.0 asked for on an H200; other releases and cards were not measured");
  return change(number, [&](Plan& plan) { plan.work_bytes = bytes; });
}

VF_ABI int cufftXtExec(int number, void*, void*, int) {
  library::Stream stream = nullptr;
  const int status = change(number, [&](const Plan& plan) { stream = plan.stream; });
  if (status == kSuccess) library::launch(stream);
  return status;
}
