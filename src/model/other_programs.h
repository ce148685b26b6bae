// What texts show that PyTorch did not print: errors of other libraries, dumps of other programs, tables of the host,
// settings, and sentences that are known by heart.
#ifndef VRAMFIT_MODEL_OTHER_PROGRAMS_H
#define VRAMFIT_MODEL_OTHER_PROGRAMS_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/printed_bytes.h"
#include "model/sentence_kind.h"
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

// What a line of another program's tells.
enum class ForeignKind {
  kOutOfMemory,
  kRefused,         // an amount that an allocator of whatever name did not give
  kBfcDump,         // TensorFlow's account of its pool
  kPoolExceeded,    // RMM: the pool's own limit
  kWarmUp,          // a server's trial with the greatest batch
  kKvCache,         // there is no room for the cache of keys and values
  kWeights,         // llama.cpp: for a model's weights
  kComputeBuffers,  // llama.cpp: for what it computes in
  kProgram,         // XLA: what a compiled program needs is more than the card has
  kScratch,         // a TPU's memory on the chip
  kDevice,          // a TPU's memory
  kBuffer,          // MLX: more in one piece than may be
  kHost,            // the host's memory
  kPinned,          // the host's, page-locked
  kLibrary,         // a handle that could not be made
  kTactic,          // TensorRT leaves out a kernel that would need more
  kCard,            // what is free and what there is, without an error
  kMemoryProfile,   // how a server has laid out the card, without an error
  kCudaGraphs,      // what a server's graphs took
  kSetting,         // XLA_PYTHON_CLIENT_PREALLOCATE is spoken of
};

// Memory errors and dumps that are not PyTorch's.
struct ForeignDump {
  SourceLine at;
  Speaker speaker;
  std::string program;  // tensorflow, jax, vllm, rmm, paddle, onnxruntime, tensorrt, llama.cpp, cupy, numba, ...
  ForeignKind kind = ForeignKind::kOutOfMemory;
  std::string message;
  std::vector<NamedBytes> sizes;          // requested, limit, in_use, max_in_use, ... as the program names them
  std::map<std::string, double> numbers;  // fractions and counts
  friend bool operator==(const ForeignDump&, const ForeignDump&) = default;
};

enum class HostTable { kDf, kFree, kUlimit, kMeminfo, kDocker };
std::string_view to_string(HostTable table);  // "df", "free", "ulimit", "meminfo", "docker"

// A table or line about the host: df, free, ulimit, /proc/meminfo, docker's shm size.
struct HostInfo {
  SourceLine at;
  HostTable kind = HostTable::kDf;
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
  SentenceKind kind{};
  friend bool operator==(const Remarkable&, const Remarkable&) = default;
};

}  // namespace vramfit::model

#endif
