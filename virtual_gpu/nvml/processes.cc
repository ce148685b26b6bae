#include "virtual_gpu/nvml/processes.h"

#include "virtual_gpu/ledger/accounts.h"
#include "virtual_gpu/ledger/visible.h"
#include "virtual_gpu/nvml/nvml.h"

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
    if (process.pid == 0 || process.used_bytes[card] <= 0 || ledger::has_ended(process)) continue;
    ScriptedProcess& user = users.emplace_back();
    user.pid = static_cast<uint32_t>(process.pid);
    user.used_bytes = static_cast<uint64_t>(process.used_bytes[card]);
    if (ledger::is_mig_instance(book.cards[card])) user.gpu_instance = 1, user.compute_instance = 0;
  }
  users.insert(users.end(), more.processes.begin(), more.processes.end());
  return users;
}

template <typename Entry>
int list(Handle handle, unsigned* count, Entry* entries) {
  if (count == nullptr) return kInvalidArgument;
  std::vector<ScriptedProcess> users;
  if (const int answer = find_users(handle, users); answer != kSuccess) return answer;
  const unsigned room = *count;
  *count = static_cast<unsigned>(users.size());
  if (room < users.size() || (entries == nullptr && !users.empty())) return kInsufficientSize;
  for (size_t i = 0; i < users.size(); ++i) fill(entries[i], users[i]);
  return kSuccess;
}

}  // namespace

int find_users(Handle handle, std::vector<ScriptedProcess>& users) {
  if (const int answer = forced_answer(handle); answer != kSuccess) return answer;
  const auto slice = slice_of(handle);
  const int card = slice ? slice->card : index_of(handle);
  if (card < 0) return ledger_if_initialised() == nullptr ? why_no_ledger() : kInvalidArgument;
  const auto more = scripted(card);
  if (more->process_answer != kSuccess) return more->process_answer;
  users = users_of(*ledger_if_initialised(), card, *more);
  if (slice) std::erase_if(users, [&](const auto& user) { return user.gpu_instance != slice->number + 1; });
  return kSuccess;
}

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
  if (count == nullptr || (nvml::index_of(handle) < 0 && !nvml::is_slice(handle))) return nvml::kInvalidArgument;
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
