// Which real cuDNN, if any, can be asked for the workspaces of its plans.
//
// What a convolution's plan needs is decided by cuDNN's version and the card. Only the very cuDNN that the job would
// use gives the job's answer, so by default the one beside the job's torch is asked, and none when there is none.
#ifndef VRAMFIT_JOB_CUDNN_SOURCE_H
#define VRAMFIT_JOB_CUDNN_SOURCE_H

#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/subprocess.h"
#include "job/interpreter.h"

namespace vramfit::job {

struct CudnnSource {
  std::filesystem::path folder;   // holds libcudnn_graph.so.9
  std::filesystem::path answers;  // a file that keeps what was answered
  friend bool operator==(const CudnnSource&, const CudnnSource&) = default;
};

// `wanted` is --cudnn: "auto" (nvidia/cudnn/lib beside torch), "zero" (nobody is asked), or a folder, which must hold
// the library.
base::Result<std::optional<CudnnSource>> find_cudnn(const std::string& wanted, const Interpreter& interpreter,
                                                    const base::Environment& environment);

}  // namespace vramfit::job

#endif
