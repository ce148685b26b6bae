// What texts show that PyTorch did not print: errors of other libraries, dumps of other programs, tables of the host,
// settings, and sentences that are known by heart.
#ifndef VRAMFIT_MODEL_OTHER_PROGRAMS_H
#define VRAMFIT_MODEL_OTHER_PROGRAMS_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/printed_bytes.h"
#include "model/source_line.h"

namespace vramfit::model {

struct LibraryError {
  SourceLine at;
  Speaker speaker;
  std::string
      library;       // cublas, cudnn, cusolver, cusparse, cufft, nccl, nvml, nvrtc, cuda_driver, cuda_runtime, triton
  std::string code;  // "CUBLAS_STATUS_ALLOC_FAILED", "cudaErrorLaunchFailure"; empty where only a text is known
  std::string call;  // "cublasCreate(handle)"
  std::string message;
  friend bool operator==(const LibraryError&, const LibraryError&) = default;
};

struct NamedBytes {
  std::string name;
  PrintedBytes bytes;
  friend bool operator==(const NamedBytes&, const NamedBytes&) = default;
};

// Memory errors and dumps that are not PyTorch's.
struct ForeignDump {
  SourceLine at;
  Speaker speaker;
  std::string program;  // tensorflow, jax, vllm, rmm, paddle, onnxruntime, tensorrt, llama.cpp, cupy, numba, ...
  std::string kind;     // bfc_dump, oom, kv_cache, memory_profile, pool_exceeded, ...
  std::string message;
  std::vector<NamedBytes> sizes;          // requested, limit, in_use, max_in_use, ... as the program names them
  std::map<std::string, double> numbers;  // fractions and counts
  friend bool operator==(const ForeignDump&, const ForeignDump&) = default;
};

// A table or line about the host: df, free, ulimit, /proc/meminfo, docker's shm size.
struct HostInfo {
  SourceLine at;
  std::string kind;               // df, free, ulimit, meminfo, wsl
  std::string subject;            // the mount point, the limit's name
  std::vector<NamedBytes> sizes;  // total, used, available, limit
  bool unlimited = false;
  friend bool operator==(const HostInfo&, const HostInfo&) = default;
};

// A setting or version that a text shows: "PYTORCH_CUDA_ALLOC_CONF" "expandable_segments:True", "torch" "2.6.0+cu124",
// "batch_size" "16". `name` of a platform mark is "platform": windows, wsl, colab, kaggle, docker, rocm, jetson.
struct SettingSeen {
  SourceLine at;
  std::string name, value;
  friend bool operator==(const SettingSeen&, const SettingSeen&) = default;
};

// A sentence of a program's own that names a cause, known by its text: "warning", "NCCL WARN", "UserWarning".
struct Remarkable {
  SourceLine at;
  Speaker speaker;
  std::string kind;  // see kSentences of ingest/text/settings.cc
  friend bool operator==(const Remarkable&, const Remarkable&) = default;
};

}  // namespace vramfit::model

#endif
