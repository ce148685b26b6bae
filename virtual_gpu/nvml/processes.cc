// Who uses a card. PyTorch's out-of-memory text is written from this list.
#include <vector>

#include "virtual_gpu/nvml/nvml.h"
#include "virtual_gpu/nvml/script.h"

namespace vramfit::nvml {
namespace {

// The three versions of the call differ in the layout of an entry. PyTorch declares the second but looks up the first
// by name, which is why with two processes a real machine can say "Process 17 has 17179869184.00 GiB memory in use".
void fill(ProcessV1& entry, const ScriptedProcess& process) { entry = {process.pid, process.used_bytes}; }

void fill(ProcessV2& entry, const ScriptedProcess& process) {
  entry = {process.pid, process.used_bytes, process.gpu_instance, process.compute_instance};
}

// The processes of the ledger and those of a script.
std::vector<ScriptedProcess> users_of(const vf_ledger& book, int card, const ScriptedCard& more) {
  std::vector<ScriptedProcess> users;
  for (const vf_process& process : book.processes) {
    if (process.pid == 0 || process.used_bytes[card] <= 0) continue;
    users.push_back({static_cast<uint32_t>(process.pid), static_cast<uint64_t>(process.used_bytes[card])});
  }
  users.insert(users.end(), more.processes.begin(), more.processes.end());
  return users;
}

template <typename Entry>
int list(Handle handle, unsigned* count, Entry* entries) {
  if (count == nullptr) return kInvalidArgument;
  if (const int answer = forced_answer(handle); answer != kSuccess) return answer;
  const int card = index_of(handle);
  if (card < 0) return ledger_if_initialised() == nullptr ? why_no_ledger() : kInvalidArgument;
  const auto more = scripted(card);
  if (more->process_answer != kSuccess) return more->process_answer;
  const auto users = users_of(*ledger_if_initialised(), card, *more);
  const unsigned room = *count;
  *count = static_cast<unsigned>(users.size());
  if (room < users.size() || (entries == nullptr && !users.empty())) return kInsufficientSize;
  for (size_t i = 0; i < users.size(); ++i) fill(entries[i], users[i]);
  return kSuccess;
}

}  // namespace
}  // namespace vramfit::nvml

using vramfit::nvml::Handle;
namespace nvml = vramfit::nvml;

VF_ABI int nvmlDeviceGetComputeRunningProcesses(Handle handle, unsigned* count, nvml::ProcessV1* entries) {
  return nvml::list(handle, count, entries);
}

VF_ABI int nvmlDeviceGetComputeRunningProcesses_v2(Handle handle, unsigned* count, nvml::ProcessV2* entries) {
  return nvml::list(handle, count, entries);
}

VF_ABI int nvmlDeviceGetComputeRunningProcesses_v3(Handle handle, unsigned* count, nvml::ProcessV2* entries) {
  return nvml::list(handle, count, entries);
}

// No card draws pictures, and no daemon shares one.
VF_ABI int nvmlDeviceGetGraphicsRunningProcesses(Handle handle, unsigned* count, void*) {
  if (const int answer = nvml::forced_answer(handle); answer != nvml::kSuccess) return answer;
  if (count == nullptr || nvml::index_of(handle) < 0) return nvml::kInvalidArgument;
  *count = 0;
  return nvml::kSuccess;
}

VF_ABI int nvmlDeviceGetGraphicsRunningProcesses_v2(Handle handle, unsigned* count, void* entries) {
  return nvmlDeviceGetGraphicsRunningProcesses(handle, count, entries);
}
VF_ABI int nvmlDeviceGetGraphicsRunningProcesses_v3(Handle handle, unsigned* count, void* entries) {
  return nvmlDeviceGetGraphicsRunningProcesses(handle, count, entries);
}
VF_ABI int nvmlDeviceGetMPSComputeRunningProcesses(Handle handle, unsigned* count, void* entries) {
  return nvmlDeviceGetGraphicsRunningProcesses(handle, count, entries);
}
VF_ABI int nvmlDeviceGetMPSComputeRunningProcesses_v2(Handle handle, unsigned* count, void* entries) {
  return nvmlDeviceGetGraphicsRunningProcesses(handle, count, entries);
}
VF_ABI int nvmlDeviceGetMPSComputeRunningProcesses_v3(Handle handle, unsigned* count, void* entries) {
  return nvmlDeviceGetGraphicsRunningProcesses(handle, count, entries);
}

// Nothing ran on a multiprocessor since any moment.
VF_ABI int nvmlDeviceGetProcessUtilization(Handle handle, void*, unsigned* count, unsigned long long) {
  if (const int answer = nvml::forced_answer(handle); answer != nvml::kSuccess) return answer;
  if (count == nullptr || nvml::index_of(handle) < 0) return nvml::kInvalidArgument;
  *count = 0;
  return nvml::kNotFound;
}
