// Messages that memory ran out, as PyTorch prints them.
#ifndef VRAMFIT_MODEL_OOM_MESSAGE_H
#define VRAMFIT_MODEL_OOM_MESSAGE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/printed_bytes.h"
#include "model/source_line.h"

namespace vramfit::model {

// The shape of the text, each with the releases of PyTorch that print it.
enum class OomForm {
  kRuntimeError2,    // "cuda runtime error (2) : out of memory at": up to 0.4, and THC calls up to 1.8
  kCachedTotal,      // "... A already allocated; F free; C cached)": 0.4.1 to 1.3; C is idle memory
  kReservedTotal,    // "...; R reserved in total by PyTorch)": 1.4 to 1.9
  kReservedHint,     // the same with "If reserved memory is >> allocated memory": 1.10 to 2.0
  kProcesses,        // "GPU 0 has a total capacty of": 2.1
  kProcessesHint,    // "GPU 0 has a total capacity of": 2.2 and later
  kMps,              // "MPS backend out of memory (MPS allocated: A, other allocations: O, max allowed: L)"
  kMallocAsync,      // "Allocation on device 0 would exceed allowed memory": the cudaMallocAsync back end
  kMoreThanExabyte,  // "Tried to allocate more than 1EB memory"
  kRefused,          // refused before the driver was asked: own texts of 2026
  kNumberless,       // "CUDA error: out of memory", "CUDA driver error: out of memory", "HIP error: out of memory"
  kHost,             // "DefaultCPUAllocator: can't allocate memory: you tried to allocate N bytes"
  kPartial,          // "out of memory" from PyTorch, cut off before its form shows
};

enum class OomDevice { kUnknown, kCuda, kHip, kXpu, kNpu, kMps, kOther, kHost };

struct OomProcess {
  std::int64_t pid = 0;  // as the driver counts: in a container another than the process's own
  PrintedBytes bytes;
  friend bool operator==(const OomProcess&, const OomProcess&) = default;
};

// What follows from the printed numbers by arithmetic alone. Each is absent unless all of its terms were printed.
struct OomArithmetic {
  // The tensor behind `tried`, which the native back end prints as the size of the segment it asked for: 2 MiB stands
  // for 1 B to 1 MiB, 20 MiB for 1 to 10 MiB, any other size X for (X - 2 MiB, X].
  std::optional<PrintedBytes> tensor;
  std::optional<PrintedBytes> live;         // allocated - private_pools, which PyTorch adds though it is free cache
  std::optional<PrintedBytes> reserved;     // printed, or allocated + unallocated (2.1+), or allocated + cached
  std::optional<PrintedBytes> idle;         // reserved - allocated
  std::optional<PrintedBytes> own_process;  // this_process, or of the process that must be this one (`own_pid`)
  std::optional<std::int64_t> own_pid;      // container: the least of the listed processes that holds `reserved`
  std::optional<PrintedBytes> context;      // own_process - reserved: context, libraries, NCCL
  std::optional<PrintedBytes> others;       // total - free - own_process: other processes
  std::optional<PrintedBytes> outside;      // total - free - reserved: own context and everybody else, not told apart
  std::optional<PrintedBytes> in_use;       // total - free
  friend bool operator==(const OomArithmetic&, const OomArithmetic&) = default;
};

struct OomMessage {
  SourceLine at;
  Speaker speaker;
  OomForm form = OomForm::kPartial;
  OomDevice device = OomDevice::kUnknown;
  std::string exception;   // "torch.OutOfMemoryError" where the line names it
  std::optional<int> gpu;  // as this process counts them (CUDA_VISIBLE_DEVICES)
  std::optional<PrintedBytes> tried, total, free, allocated;
  std::optional<PrintedBytes> reserved;       // 1.4 to 2.0: in total
  std::optional<PrintedBytes> cached;         // up to 1.3
  std::optional<PrintedBytes> unallocated;    // 2.1+: reserved but unallocated
  std::optional<PrintedBytes> private_pools;  // 2.1+: of `allocated`
  std::optional<PrintedBytes> allowed;        // set_per_process_memory_fraction; kMps: "max allowed"
  std::optional<PrintedBytes> metal;          // kMps: "other allocations", of this process outside PyTorch's pools
  std::optional<PrintedBytes> this_process;   // "Including non-PyTorch memory, this process has"
  std::vector<OomProcess> processes;          // "Process P has"
  std::vector<std::string> hints;             // settings that the message itself advises: "max_split_size_mb",
                                              // "expandable_segments:True"
  std::string hint_variable;                  // "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", ...
  bool truncated = false;                     // the message ends before its form's end
  std::int64_t repeated = 1;                  // how often in a row these very numbers were printed
  OomArithmetic arithmetic;
  friend bool operator==(const OomMessage&, const OomMessage&) = default;
};

}  // namespace vramfit::model

#endif
