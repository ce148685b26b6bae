#include "ingest/text/library_error.h"

#include <algorithm>
#include <array>
#include <string>

#include "ingest/text/cursor.h"
#include "ingest/text/line_text.h"

namespace vramfit::ingest {
namespace {

constexpr std::size_t kLongestLibraryMessage = 500;  // bytes

// Names of codes begin so.
struct CodeFamily {
  std::string_view library, begin;
};
constexpr std::array<CodeFamily, 24> kFamilies{{{"cublas", "CUBLAS_STATUS_"},
                                                {"cudnn", "CUDNN_STATUS_"},
                                                {"cusolver", "CUSOLVER_STATUS_"},
                                                {"cusparse", "CUSPARSE_STATUS_"},
                                                {"cufft", "CUFFT_"},
                                                {"curand", "CURAND_STATUS_"},
                                                {"hipblas", "HIPBLAS_STATUS_"},
                                                {"rocblas", "rocblas_status_"},
                                                {"miopen", "miopenStatus"},
                                                {"nvrtc", "NVRTC_ERROR_"},
                                                {"hiprtc", "HIPRTC_ERROR_"},
                                                {"cuda_driver", "CUDA_ERROR_"},
                                                {"nvml", "NVML_ERROR_"},
                                                {"nvml", "NVMLError_"},
                                                {"nccl", "ncclUnhandledCudaError"},
                                                {"nccl", "ncclSystemError"},
                                                {"nccl", "ncclInternalError"},
                                                {"nccl", "ncclInvalidUsage"},
                                                {"nccl", "ncclInvalidArgument"},
                                                {"nccl", "ncclRemoteError"},
                                                {"cuda_runtime", "cudaErrorM"},
                                                {"cuda_runtime", "cudaError"},
                                                {"hip_runtime", "hipError"},
                                                {"cuda_driver", "CUresult error"}}};

// Sentences without a code, or that stand for one. In lower case.
struct LibrarySentence {
  std::string_view words, library, code;
};
constexpr auto kLibrarySentences = std::to_array<LibrarySentence>({
    {"cublas runtime error : resource allocation failed", "cublas", "CUBLAS_STATUS_ALLOC_FAILED"},
    {"cublas runtime error : library not initialized", "cublas", "CUBLAS_STATUS_NOT_INITIALIZED"},
    {"cublas runtime error", "cublas", ""},
    {"unable to find a valid cudnn algorithm", "cudnn", ""},
    {"was unable to find an engine to execute this computation", "cudnn", ""},
    {"no valid execution plans built", "cudnn", ""},
    {"cudnn frontend error", "cudnn", ""},
    {"unhandled cuda error", "nccl", "ncclUnhandledCudaError"},
    {"unhandled system error", "nccl", "ncclSystemError"},
    {"nccl warn cuda failure", "nccl", ""},
    {"failed to cuda calloc", "nccl", "out of memory"},
    {"failed to cuda malloc", "nccl", "out of memory"},
    {"failed to cuda host alloc", "nccl", "host alloc"},
    {"watchdog caught collective operation timeout", "nccl", "timeout"},
    {"nvml_success == r", "nvml", ""},
    {"nvml_success == driverapi", "nvml", ""},
    {"failed to initialize nvml", "nvml", ""},
    {"nvidia-smi has failed because it couldn't communicate", "nvml", ""},
    {"unable to determine the device handle for gpu", "nvml", "gpu lost"},
    {"gpu is lost", "nvml", "gpu lost"},
    {"driver/library version mismatch", "nvml", "version mismatch"},
    {"an illegal memory access was encountered", "cuda_runtime", "cudaErrorIllegalAddress"},
    {"device-side assert triggered", "cuda_runtime", "cudaErrorAssert"},
    {"unspecified launch failure", "cuda_runtime", "cudaErrorLaunchFailure"},
    {"cuda error: invalid device ordinal", "cuda_runtime", "cudaErrorInvalidDevice"},
    {"invalid device argument", "cuda_runtime", "cudaErrorInvalidDevice"},  // asserted by PyTorch before CUDA is asked
    {"device < num_gpus", "cuda_runtime", "cudaErrorInvalidDevice"},
    {"no kernel image is available for execution", "cuda_runtime", "cudaErrorNoKernelImageForDevice"},
    {"uncorrectable ecc error", "cuda_runtime", "cudaErrorECCUncorrectable"},
    {"devices are busy or unavailable", "cuda_runtime", "cudaErrorDevicesUnavailable"},
    {"cuda error: initialization error", "cuda_runtime", "cudaErrorInitializationError"},
    {"cuda error: invalid argument", "cuda_runtime", "cudaErrorInvalidValue"},
    {"cuda error: unknown error", "cuda_runtime", "cudaErrorUnknown"},
    {"cuda unknown error", "cuda_runtime", "cudaErrorUnknown"},
    {"cuda error: invalid configuration argument", "cuda_runtime", "cudaErrorInvalidConfiguration"},
    {"too many resources requested for launch", "cuda_runtime", "cudaErrorLaunchOutOfResources"},
    {"the launch timed out and was terminated", "cuda_runtime", "cudaErrorLaunchTimeout"},
    {"cuda error: misaligned address", "cuda_runtime", "cudaErrorMisalignedAddress"},
    {"operation not permitted when stream is capturing", "cuda_runtime", "cudaErrorStreamCaptureUnsupported"},
    {"mapping of buffer object failed", "cuda_runtime", "cudaErrorMapBufferObjectFailed"},
    {"resource already mapped", "cuda_runtime", "cudaErrorAlreadyMapped"},
    {"cannot re-initialize cuda in forked subprocess", "cuda_runtime", "forked"},
    {"no cuda gpus are available", "cuda_runtime", "cudaErrorNoDevice"},
    {"found no nvidia driver on your system", "cuda_driver", "no driver"},
    {"the nvidia driver on your system is too old", "cuda_driver", "old driver"},
    {"cuda driver version is insufficient", "cuda_runtime", "cudaErrorInsufficientDriver"},
    {"expandable_segment", "", ""},  // taken by other readers
    {"out of resource: shared memory", "triton", "shared memory"},
    {"out of resource: triton_", "triton", "shared memory"},  // Inductor names its kernel instead
    {"out of resource: threads", "triton", "threads"},
    {"out of resource: tensor memory", "triton", "tensor memory"},
    {"triton error [cuda]: out of memory", "triton", "out of memory"},
    {"nvrtc: error", "nvrtc", ""},
});

// "Loss.cu:250: nll_loss_forward: block: [0,0,0], thread: [3,0,0] Assertion `t >= 0 && t < n_classes` failed."
std::optional<model::LibraryError> find_kernel_assertion(std::string_view text) {
  const bool of_kernel = text.contains(".cu:") || text.contains(".cuh:") || contains_ignoring_case(text, "thread: [");
  if (!of_kernel || !contains_ignoring_case(text, "assertion") || !contains_ignoring_case(text, "failed"))
    return std::nullopt;
  return model::LibraryError{
      .at = {}, .speaker = {}, .library = "cuda_runtime", .code = "cudaErrorAssert", .call = {}, .message = {}};
}

bool is_code_letter(char letter) { return is_word(letter); }

// The code at the first place where a family's name begins; those that say success are no errors.
std::optional<model::LibraryError> find_code(std::string_view text) {
  for (const CodeFamily& family : kFamilies) {
    for (std::size_t at = text.find(family.begin); at != kNowhere; at = text.find(family.begin, at + 1)) {
      Cursor cursor(text.substr(at));
      const std::string_view code = cursor.take_while(is_code_letter);
      const bool within_word = at > 0 && is_word(text[at - 1]);
      const bool name_only =
          code == "cudaError" || code == "hipError" || code.ends_with("_SUCCESS") || code == "cudaErrors";
      if (within_word || name_only || code.ends_with("_t") || code.ends_with("success") || code.ends_with('_'))
        continue;
      return model::LibraryError{.at = {},
                                 .speaker = {},
                                 .library = std::string(family.library),
                                 .code = std::string(code),
                                 .call = {},
                                 .message = {}};
    }
  }
  return std::nullopt;
}

// Both interfaces of CUDA give these numbers to the same errors (cuda.h, driver_types.h).
struct CodeNumber {
  std::string_view number, name;
};
constexpr std::array<CodeNumber, 6> kCodeNumbers{{{"1", "CUDA_ERROR_INVALID_VALUE"},
                                                  {"2", "CUDA_ERROR_OUT_OF_MEMORY"},
                                                  {"100", "CUDA_ERROR_NO_DEVICE"},
                                                  {"700", "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                  {"719", "CUDA_ERROR_LAUNCH_FAILED"},
                                                  {"999", "CUDA_ERROR_UNKNOWN"}}};

// "cuMemCreate failed with error code 2", "cudaMalloc failed with error 2": a call of CUDA's and the number it
// returned.
std::optional<model::LibraryError> find_numbered_code(std::string_view text) {
  constexpr std::string_view kFailed = " failed with error ";
  const std::size_t failed = text.find(kFailed);
  if (failed == kNowhere) return std::nullopt;
  std::size_t begin = failed;
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  const std::string_view call = text.substr(begin, failed - begin);
  const std::size_t prefix = call.starts_with("cuda") ? 4 : 2;
  if (!call.starts_with("cu") || call.size() <= prefix || call[prefix] < 'A' || call[prefix] > 'Z') return std::nullopt;
  Cursor cursor(text.substr(failed + kFailed.size()));
  cursor.pass("code ");
  const std::string_view number = cursor.take_while(is_digit);
  const auto known = std::ranges::find(kCodeNumbers, number, &CodeNumber::number);
  if (known == kCodeNumbers.end()) return std::nullopt;
  return model::LibraryError{.at = {},
                             .speaker = {},
                             .library = prefix == 4 ? "cuda_runtime" : "cuda_driver",
                             .code = std::string(known->name),
                             .call = std::string(call),
                             .message = {}};
}

std::optional<model::LibraryError> find_sentence(std::string_view text) {
  for (const LibrarySentence& sentence : kLibrarySentences) {
    if (sentence.library.empty() || !contains_ignoring_case(text, sentence.words)) continue;
    return model::LibraryError{.at = {},
                               .speaker = {},
                               .library = std::string(sentence.library),
                               .code = std::string(sentence.code),
                               .call = {},
                               .message = {}};
  }
  return std::nullopt;
}

// "when calling `cublasCreate(handle)`"
std::string called(std::string_view text) {
  Cursor cursor(text);
  if (!cursor.pass("when calling `") && !cursor.pass("when calling '")) return {};
  return cut_text(cursor.rest().substr(0, cursor.rest().find_first_of("`'")), kLongestLibraryMessage);
}

// Lines of code and of advice mention codes too.
bool is_code_line(std::string_view text) {
  const std::string_view line = trim(text);
  return line.starts_with("raise ") || line.starts_with("if ") || line.starts_with("except") ||
         line.starts_with("TORCH_CHECK") || line.starts_with("assert ") || line.starts_with("def ") ||
         line.starts_with("return ") || line.starts_with("frame #") ||
         line.contains("Plan failed with a") ||  // a warning of cuDNN's search: another plan is taken
         line.contains("for benchmark choice");  // and of Inductor's
}

class LibraryErrorReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    if (line.whole.contains("torch/_inductor/select_algorithm.py:")) return;  // its search takes another choice
    auto error = parse_library_error(line.text);
    if (!error) return;
    error->at = sink.at(line);
    error->speaker = line.speaker;
    sink.add(sink.evidence().library_errors, std::move(*error), "errors of libraries");
  }
};

constexpr auto kLibraryErrorWords = std::to_array<std::string_view>({"cublas",
                                                                     "cudnn_status",
                                                                     "cudnn algorithm",
                                                                     "cudnn frontend",
                                                                     "cusolver_status",
                                                                     "cusparse_status",
                                                                     "cufft_",
                                                                     "curand_status",
                                                                     "hipblas_status",
                                                                     "rocblas_status",
                                                                     "miopenstatus",
                                                                     "nvrtc",
                                                                     "assertion",
                                                                     "hiprtc_error",
                                                                     "cuda_error_",
                                                                     "nvml_",
                                                                     "nvmlerror",
                                                                     "ize nvml",
                                                                     "ncclunhandled",
                                                                     "ncclsystem",
                                                                     "ncclinternal",
                                                                     "ncclinvalid",
                                                                     "ncclremote",
                                                                     "cudaerror",
                                                                     "hiperror",
                                                                     "cuda error",
                                                                     " failed with error ",
                                                                     "cuda driver",
                                                                     "an engine to execute",
                                                                     "execution plans built",
                                                                     "unhandled system error",
                                                                     "unhandled cuda error",
                                                                     "nccl warn",
                                                                     "ed to cuda",
                                                                     "collective operation timeout",
                                                                     "nvidia-smi has failed",
                                                                     "device handle for gpu",
                                                                     "gpu is lost",
                                                                     "out of resource",
                                                                     "nvidia driver",
                                                                     "cuda unknown error",
                                                                     "re-initialize cuda",
                                                                     "no cuda gpus",
                                                                     "triton error"});

}  // namespace

std::optional<model::LibraryError> parse_library_error(std::string_view text) {
  if (is_code_line(text)) return std::nullopt;
  auto error = find_kernel_assertion(text);
  if (!error) error = find_code(text);
  if (!error) error = find_numbered_code(text);
  if (!error) error = find_sentence(text);
  if (!error) return std::nullopt;
  if (error->call.empty()) error->call = called(text);
  error->message = cut_text(trim(text), kLongestLibraryMessage);
  return error;
}

const TextFormat kLibraryErrorFormat{"library_error", kLibraryErrorWords,
                                     [] { return std::unique_ptr<TextReader>(new LibraryErrorReader); }};

}  // namespace vramfit::ingest
