// What texts that people keep after a crash say: logs, tracebacks, nvidia-smi, kernel messages. The readers of
// ingest/text/ fill it in, one entry per thing found, each with its file and line; the doctor judges. Nothing here is
// a judgement, and what a text does not say is absent, never 0.
#ifndef VRAMFIT_MODEL_EVIDENCE_H
#define VRAMFIT_MODEL_EVIDENCE_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "model/printed_bytes.h"

namespace vramfit::model {

struct SourceLine {
  std::string file;
  std::int64_t line = 0;  // from 1
  std::string text;       // without colours and log prefixes; long lines are cut
  friend bool operator==(const SourceLine&, const SourceLine&) = default;
};

// Who printed a line, where its prefix or its exception says so.
struct Speaker {
  std::optional<int> rank;    // "[rank3]:", "[3]:", "worker RANK 3"
  std::optional<int> worker;  // DataLoader worker process
  std::string thread;         // "Thread-4 (_pin_memory_loop)", "pin memory thread for device 0"
  std::string process;        // "Process SpawnProcess-1", "(EngineCore_0 pid=123)"
  friend bool operator==(const Speaker&, const Speaker&) = default;
};

// ---- out-of-memory messages -----------------------------------------------------------------------------------------

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

// ---- Python tracebacks ----------------------------------------------------------------------------------------------

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

// Words in frames that tell where a program was. Data, not judgement.
struct PhaseMark {
  std::string kind;  // backward, optimizer_step, evaluation, no_grad, loading, pin_memory, data_loading, collective,
                     // compile, graph_capture, to_device, loss, logits, metrics, generation, attention, convolution,
                     // interpolate, copy, cat, optimizer_state, recompute, ema, training
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

// ---- errors of other libraries --------------------------------------------------------------------------------------

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

// ---- the host -------------------------------------------------------------------------------------------------------

enum class HostKillKind {
  kShell,         // "Killed", "Killed: 9"
  kExitStatus,    // exit code 137, -9, SIGKILL
  kKernel,        // "Out of memory: Killed process 123 (python)"
  kCgroup,        // "Memory cgroup out of memory: Killed process"
  kMemoryEvents,  // memory.events, /proc/vmstat: counters
  kContainer,     // "OOMKilled"
  kScheduler,     // "Detected 1 oom_kill event in StepId", "Exceeded job memory limit"
  kDaemon,        // systemd-oomd, earlyoom
  kDataWorker,    // "DataLoader worker (pid 1) is killed by signal: Killed."
  kAllocation,    // the host refused: "Cannot allocate memory", "std::bad_alloc", MemoryError
};

struct HostKill {
  SourceLine at;
  Speaker speaker;
  HostKillKind kind = HostKillKind::kShell;
  std::optional<std::int64_t> pid;
  std::string process;
  std::optional<int> exit_code, signal;
  std::optional<PrintedBytes> total_vm, anon_rss, file_rss, shmem_rss;
  std::optional<PrintedBytes> limit, usage;  // of the cgroup or job
  std::string cgroup;
  std::map<std::string, std::int64_t> counters;  // kMemoryEvents: low, high, max, oom, oom_kill
  friend bool operator==(const HostKill&, const HostKill&) = default;
};

enum class ShmErrorKind {
  kBusError,     // "DataLoader worker (pid 1) is killed by signal: Bus error. It is possible that dataloader's ..."
  kNoSpace,      // "No space left on device", "unable to write to file </torch_...>", "unable to resize file"
  kUnavailable,  // "unable to open shared memory object"
  kLibrary,      // NCCL: "Error while creating shared memory segment"
};

struct ShmError {
  SourceLine at;
  Speaker speaker;
  ShmErrorKind kind = ShmErrorKind::kBusError;
  std::optional<std::int64_t> pid;
  std::string path;
  std::optional<PrintedBytes> asked;
  friend bool operator==(const ShmError&, const ShmError&) = default;
};

// ---- PyTorch's own statistics ---------------------------------------------------------------------------------------

// One row of torch.cuda.memory_summary(), or the entries of torch.cuda.memory_stats() of one name. Counts are exact
// "sizes".
struct MemoryStatistic {
  std::optional<PrintedBytes> current, peak, allocated, freed;  // "Cur Usage", "Peak Usage", "Tot Alloc", "Tot Freed"
  friend bool operator==(const MemoryStatistic&, const MemoryStatistic&) = default;
};

struct MemorySummary {
  SourceLine at;
  Speaker speaker;
  std::optional<int> device;
  bool abbreviated = false;
  // Under PyTorch's own keys, "allocated_bytes.all", "reserved_bytes.large_pool", "segment.all", "inactive_split.all".
  std::map<std::string, MemoryStatistic> statistics;
  std::map<std::string, std::int64_t> counters;  // num_ooms, num_alloc_retries, num_device_alloc, max_split_size, ...
  bool truncated = false;
  friend bool operator==(const MemorySummary&, const MemorySummary&) = default;
};

// ---- nvidia-smi -----------------------------------------------------------------------------------------------------

struct GpuProcess {
  SourceLine at;
  std::optional<int> gpu;
  std::string gpu_uuid;  // where the text names cards so
  std::optional<std::int64_t> pid;
  std::string type;  // "C", "G", "C+G", "M+C"
  std::string name;
  std::optional<PrintedBytes> memory;  // absent: "N/A"
  std::optional<int> mig_instance;     // GI ID
  friend bool operator==(const GpuProcess&, const GpuProcess&) = default;
};

struct MigSlice {
  std::optional<int> gpu, gpu_instance, compute_instance, device;
  std::optional<PrintedBytes> used, total;
  friend bool operator==(const MigSlice&, const MigSlice&) = default;
};

struct GpuCard {
  SourceLine at;
  std::optional<int> index;
  std::string name, uuid, bus_id;
  std::optional<PrintedBytes> total, used, free, reserved;
  std::optional<double> utilization_percent, memory_utilization_percent, temperature_c, power_w, power_limit_w;
  std::string mig_mode;      // "Enabled", "Disabled"; empty: not said
  std::string driver_model;  // "WDDM", "TCC", "MCDM"
  std::string compute_mode;  // "Default", "E. Process"
  std::string display;       // "On", "Off"
  std::string problem;       // "ERR!", "GPU is lost"
  friend bool operator==(const GpuCard&, const GpuCard&) = default;
};

enum class GpuStatusForm { kTable, kQuery, kXml, kCsv, kDmon, kPmon };

struct GpuStatus {
  SourceLine at;
  GpuStatusForm form = GpuStatusForm::kTable;
  std::string program;  // "nvidia-smi", "rocm-smi", "gpustat"
  std::string time, driver, cuda;
  std::vector<GpuCard> cards;
  std::vector<MigSlice> slices;
  std::vector<GpuProcess> processes;
  bool processes_listed = false;  // the text has a process section, perhaps an empty one
  std::int64_t samples = 1;       // dmon, pmon, -l: readings in a row; `cards` has the last, `most_used` the greatest
  std::map<int, PrintedBytes> first_used, most_used;  // by card index
  bool truncated = false;
  friend bool operator==(const GpuStatus&, const GpuStatus&) = default;
};

// ---- training logs --------------------------------------------------------------------------------------------------

struct TrainingLogPoint {
  SourceLine at;
  Speaker speaker;
  std::string
      source;  // deepspeed, lightning, huggingface, mm, megatron, fairseq, detectron, ultralytics, torchtitan, other
  std::string label;  // what the line says of itself: "After initializing optimizer states"
  std::string phase;  // train, validate, test where the line says so
  std::optional<std::int64_t> step, steps_total;
  std::optional<double> epoch;
  std::optional<PrintedBytes> allocated, max_allocated, reserved, max_reserved;
  std::optional<PrintedBytes> memory;  // one number whose kind the log does not say
  std::optional<PrintedBytes> free;
  std::optional<double> used_percent, max_used_percent;  // of the card's memory
  std::optional<PrintedBytes> host;
  std::optional<double> host_percent;
  friend bool operator==(const TrainingLogPoint&, const TrainingLogPoint&) = default;
};

// ---- other programs -------------------------------------------------------------------------------------------------

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

// ---- prose ----------------------------------------------------------------------------------------------------------

// What a sentence of a person's says of memory, or of a program or machine that it stopped.
enum class ToldKind {
  kRises,      // it grows with time: "goes up with each epoch", "keeps growing until it crashes"
  kTrouble,    // it is full, too much, not given back; a machine froze, a process died
  kIsWell,     // it is level, there is enough; or it no longer fails
  kMentioned,  // it is spoken of, and not judged
};
enum class ToldOf { kUnknown, kCard, kHost };  // whose memory; kUnknown: "the memory", or none is named

struct ToldSentence {
  SourceLine at;
  ToldKind kind = ToldKind::kMentioned;
  ToldOf of = ToldOf::kUnknown;
  bool names_memory = true;    // false: only that something stopped
  bool denies_growth = false;  // "there is no increase"
  friend bool operator==(const ToldSentence&, const ToldSentence&) = default;
};

// ---- all of it ------------------------------------------------------------------------------------------------------

// A parsed number, for --json. `bytes` for sizes, else `number`.
struct Fact {
  std::string name;  // "oom.tried", "gpu.0.used"
  std::optional<PrintedBytes> bytes;
  std::optional<double> number;
  SourceLine at;
  friend bool operator==(const Fact&, const Fact&) = default;
};

// Whether a text is of a kind that is known at all. Only then may it be called free of faults.
enum class TextLooks {
  kEmpty,    // not one letter
  kUnknown,  // words, but neither of a log nor of anything else that is read here
  kLog,      // dated lines, or steps, epochs and losses with their numbers
};

// What people write who report no failure.
enum class Genre {
  kNone,
  kQuestion,
  kSource,    // a program that handles errors
  kDocument,  // a proposal, a change of a program, a review, a page of documentation
};

inline constexpr std::size_t kSampleFirst = 12'000, kSampleLast = 8'000;

struct TextFile {
  std::string name;
  std::string encoding;  // "utf-8", "utf-16le", "utf-16be", "latin-1"
  std::int64_t bytes = 0, lines = 0;
  bool complete = true;  // false: a limit ended the reading
  TextLooks looks = TextLooks::kEmpty;
  Genre genre = Genre::kNone;
  // The first sentence of prose in which something is said to be so, and that no reader made anything of; and the first
  // in which the writer says it of himself.
  std::optional<SourceLine> not_understood, not_understood_of_writer;
  std::string
      sample;  // all of a short text, else kSampleFirst bytes of its beginning, a line end, kSampleLast of its end
  friend bool operator==(const TextFile&, const TextFile&) = default;
};

struct Evidence {
  std::vector<TextFile> files;
  std::vector<OomMessage> ooms;
  std::vector<Traceback> tracebacks;
  std::vector<LaunchFailure> launch_failures;
  std::vector<LibraryError> library_errors;
  std::vector<HostKill> host_kills;
  std::vector<ShmError> shm_errors;
  std::vector<SourceLine> oom_mentions;  // prose that speaks of GPU memory that ran out
  std::vector<SourceLine> memory_words;  // of trouble with some memory, whoever says so; not of what is above
  std::vector<ToldSentence> told;        // by people, of memory
  std::vector<SourceLine> other_errors;  // errors by their name or form alone, of whatever kind
  std::vector<MemorySummary> summaries;
  std::vector<GpuStatus> gpu_status;
  std::vector<TrainingLogPoint> training;
  std::vector<ForeignDump> foreign;
  std::vector<HostInfo> host;
  std::vector<SettingSeen> settings;
  std::vector<Remarkable> remarks;
  std::vector<Fact> facts;
  std::map<std::string, std::int64_t> unread;  // input that was kept out, by what it is
  friend bool operator==(const Evidence&, const Evidence&) = default;
};

}  // namespace vramfit::model

#endif
