// Tracebacks of Python, and the failures that torchrun lists.
#ifndef VRAMFIT_MODEL_TRACEBACK_H
#define VRAMFIT_MODEL_TRACEBACK_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/source_line.h"

namespace vramfit::model {

struct TraceFrame {
  std::string file;
  int line = 0;  // 0: not printed
  std::string function;
  std::string code;
  friend bool operator==(const TraceFrame&, const TraceFrame&) = default;
};

enum class TraceRelation {
  kFirst,
  kDuringHandling,  // "During handling of the above exception, another exception occurred"
  kDirectCause,     // "The above exception was the direct cause of the following exception"
  kOriginal,        // "Original Traceback (most recent call last):", a worker's own, carried within the message
};

struct TracedException {
  TraceRelation relation = TraceRelation::kFirst;  // to the one before it
  std::int64_t first_line = 0, last_line = 0;
  std::vector<TraceFrame> frames;  // outermost first
  std::string type;                // "RuntimeError"; empty: cut off
  std::string message;             // long ones are cut
  std::string note;                // "Caught RuntimeError in pin memory thread for device 0."
  friend bool operator==(const TracedException&, const TracedException&) = default;
};

// Where a program was, by words in its frames (ingest/text/phase_marks.cc). Data, not judgement.
enum class FramePhase : std::uint8_t {
  kBackward,
  kOptimizerStep,
  kOptimizerState,
  kEvaluation,
  kTraining,
  kNoGrad,
  kLoading,
  kToDevice,
  kPinMemory,
  kDataLoading,
  kCollective,
  kCompile,
  kGraphCapture,
  kLoss,
  kLogits,
  kMetrics,
  kGeneration,
  kAttention,
  kConvolution,
  kInterpolate,
  kCopy,
  kCat,
  kRecompute,
  kEma,
};

struct PhaseMark {
  FramePhase kind{};
  std::size_t exception = 0, frame = 0;  // indices into Traceback
  friend bool operator==(const PhaseMark&, const PhaseMark&) = default;
};

struct Traceback {
  SourceLine at;
  Speaker speaker;
  std::vector<TracedException> exceptions;  // in the order printed: the last is what ended the program
  std::vector<PhaseMark> marks;
  bool truncated = false;
  friend bool operator==(const Traceback&, const Traceback&) = default;
};

// torchrun's "Root Cause (first observed failure)" and "Other Failures".
struct LaunchFailure {
  SourceLine at;
  bool root_cause = false;
  std::optional<int> rank, local_rank, exit_code, signal;
  std::optional<std::int64_t> pid;
  std::string host, time, error_file, message;
  friend bool operator==(const LaunchFailure&, const LaunchFailure&) = default;
};

}  // namespace vramfit::model

#endif
