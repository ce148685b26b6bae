#include "ingest/text/foreign.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/out_of_memory.h"
#include "ingest/text/cursor.h"
#include "ingest/text/foreign_shapes.h"
#include "ingest/text/line_text.h"
#include "ingest/text/printed_size.h"
#include "ingest/text/refused_request.h"

namespace vramfit::ingest {
namespace {

using model::ForeignDump;
using model::ForeignKind;

constexpr std::size_t kLongestForeignMessage = 400;  // bytes
constexpr int kMostForeignIdleLines = 200;  // lines of a TensorFlow dump that tell nothing (it prints each chunk)

// A word that several programs share is this one's only with its other marks.
bool is_meant(const ForeignShape& shape, std::string_view text) {
  if (shape.program == "paddle" && shape.words == "cannot allocate") {
    return contains_ignoring_case(text, "memory") && contains_ignoring_case(text, "gpu") &&
           contains_ignoring_case(text, "available memory is ");
  }
  if (shape.words == "cudamalloc failed: out of memory") {
    const bool is_mxnet = contains_ignoring_case(text, "mxnet") || text.contains("storage_manager");
    return is_mxnet == (shape.program == "mxnet");
  }
  // A notice of a pool that grows, and of a request that may be refused: neither is a failure.
  if (shape.words == "bfcarena::allocaterawinternal")
    return contains_ignoring_case(text, "fail") || contains_ignoring_case(text, "smaller than");
  if (contains_ignoring_case(text, "this is not a failure")) return false;
  if (shape.words == ") from device: ")  // of CUDA, ROCm or whatever XLA runs on
    return base::says_out_of_memory(text);
  if (shape.words == "of pinned memory") return contains_ignoring_case(text, "failed to allocate");
  if (shape.words == "in function alloc at") return text.contains("ggml-cuda");
  if (shape.words == "capture cuda graph failed") return base::says_out_of_memory(text);
  if (shape.words == "bytes free, ") return contains_ignoring_case(text, "memory usage: ");
  if (shape.words == "kv buffer size" || shape.words == "model buffer size")  // on a card
    return !contains_ignoring_case(text, "cpu") && !contains_ignoring_case(text, "host");
  if (shape.words == "failed to allocate compute") return text.contains("buffer");
  if (shape.words == "resourceexhausted")
    return text.contains("paddle") || text.contains("ResourceExhaustedError: ") || text.contains("[Hint");
  if (shape.words == "resource exhausted")
    return contains_ignoring_case(text, "oom") || contains_ignoring_case(text, "memory") ||
           contains_ignoring_case(text, "tensor");
  // RPC libraries have the same word for messages and quotas; XLA names the memory.
  if (shape.words == "resource_exhausted")
    return contains_ignoring_case(text, "memory") || contains_ignoring_case(text, "alloc") ||
           contains_ignoring_case(text, "oom") || contains_ignoring_case(text, "hbm");
  if (shape.words == "memory pool end" || shape.words == "load weight end")
    return contains_ignoring_case(text, "avail mem");
  return true;
}

// What stands behind a label, in any case.
std::string_view behind(std::string_view text, std::string_view label) {
  const std::size_t at = find_ignoring_case(text, label);
  return at == kNowhere ? std::string_view() : text.substr(at + label.size());
}

void read_fields(const ForeignShape& shape, std::string_view text, ForeignDump& dump) {
  for (const ForeignSize& field : shape.sizes) {
    if (field.label.empty() || field.name == "ignored") continue;
    const bool known =
        std::ranges::any_of(dump.sizes, [&](const model::NamedBytes& one) { return one.name == field.name; });
    const auto size = parse_size(trim(behind(text, field.label)), Rounding::kNearest, field.unit);
    if (size && !known) dump.sizes.push_back({std::string(field.name), size->bytes});
  }
  for (const ForeignNumber& field : shape.numbers) {
    if (field.label.empty()) continue;
    std::string digits;
    for (const char letter : trim(behind(text, field.label)).substr(0, 24)) {
      if (letter == ',') continue;
      if (!is_digit(letter) && letter != '.') break;
      digits += letter;
    }
    if (const auto number = to_number(digits)) dump.numbers[std::string(field.name)] = *number;
  }
}

// "shape[64,512,56,56] and type float on /job:localhost/.../device:GPU:0 by allocator GPU_0_bfc": the tensor's bytes
void read_tensor(std::string_view text, ForeignDump& dump) {
  Cursor cursor(text);
  if (!cursor.pass("shape[")) return;
  std::int64_t count = 1;
  while (const auto size = cursor.take_integer()) {
    if (*size < 0 || (*size > 0 && count > model::kPrintedBytesLimit / 8 / *size)) return;
    count *= *size;
    if (!cursor.take(",")) break;
  }
  if (!cursor.take("]")) return;
  // The first releases print no type: then it is mostly the usual one.
  const std::string_view type = cursor.take(" and type ") ? cursor.take_while(is_word) : "float";
  const std::int64_t width = type == "float" || type == "int32"                    ? 4
                             : type == "half" || type == "bfloat16"                ? 2
                             : type == "double" || type == "int64"                 ? 8
                             : type == "bool" || type == "int8" || type == "uint8" ? 1
                                                                                   : 0;
  if (width > 0) dump.sizes.push_back({"requested", model::exactly(base::Bytes(count * width))});
}

class ForeignReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    if (open_ && take_stats(line.text)) return;
    auto dump = parse_foreign(line.text);
    if (!dump) dump = parse_refused_request(line.whole);  // who asked may stand in brackets, as a prefix does
    if (!dump) {
      if (open_ && ++idle_ > kMostForeignIdleLines) finish(sink);
      return;
    }
    dump->at = sink.at(line);
    dump->speaker = line.speaker;
    // An error without an amount, below the line that asked for it.
    std::string_view above = line.before;
    if (dump->kind == ForeignKind::kOutOfMemory && dump->sizes.empty() && dump->program != "tensorflow") {
      if (const auto requested = find_requested(take_line_above(above)))
        dump->sizes.push_back({"requested", *requested});
    }
    idle_ = 0;
    // The lines of one TensorFlow dump are one dump.
    if (open_ && dump->program == "tensorflow" && dump->kind == ForeignKind::kBfcDump) {
      for (auto& size : dump->sizes) open_->sizes.push_back(std::move(size));
      return;
    }
    finish(sink);
    if (dump->program == "tensorflow" && (dump->kind == ForeignKind::kBfcDump || dump->sizes.size() == 1)) {
      open_ = std::move(*dump);
    } else {
      keep(std::move(*dump), sink);
    }
  }

  bool wants_more() const override { return open_.has_value(); }

  void finish(EvidenceSink& sink) override {
    if (open_) keep(std::move(*open_), sink);
    open_.reset();
    idle_ = 0;
  }

 private:
  // Stats: / Limit: 10411742004 / InUse: 10388307968 / MaxInUse: ... / NumAllocs: ... / MaxAllocSize: ...
  bool take_stats(std::string_view text) {
    Cursor cursor(trim(text));
    for (const auto& [label, name] : {std::pair<std::string_view, std::string_view>{"Limit:", "limit"},
                                      {"InUse:", "in_use"},
                                      {"MaxInUse:", "max_in_use"},
                                      {"MaxAllocSize:", "max_alloc"},
                                      {"NumAllocs:", ""},
                                      {"Stats:", ""}}) {
      if (!cursor.take(label)) continue;
      cursor.skip_blanks();
      if (const auto bytes = cursor.take_integer(); bytes && *bytes >= 0 && !name.empty()) {
        std::erase_if(open_->sizes, [&](const model::NamedBytes& one) { return one.name == name; });
        open_->sizes.push_back({std::string(name), model::exactly(model::held_within_limit(*bytes))});
        open_->kind = ForeignKind::kBfcDump;
      }
      idle_ = 0;
      return true;
    }
    return false;
  }

  static void keep(ForeignDump dump, EvidenceSink& sink) {
    auto& all = sink.evidence().foreign;
    if (!all.empty() && all.back().program == dump.program && all.back().message == dump.message) return;
    sink.add(all, std::move(dump), "reports of other programs");
  }

  std::optional<ForeignDump> open_;
  int idle_ = 0;
};

constexpr auto kForeignWords = std::to_array<std::string_view>({"loading model: ",
                                                                "ggml_vulkan: ",
                                                                "outofdevicememory",
                                                                "out_of_device_memory",
                                                                "profiled value -",
                                                                "oom when alloc",
                                                                "with error 2 out",
                                                                "cudasuccess (2 vs",
                                                                "2, reason: out of",
                                                                "cudasuccess. 2 vs",
                                                                "nvmapmemalloc",
                                                                "ur_result_error",
                                                                "pi_error_out_of",
                                                                "metal::malloc",
                                                                "memory to handle",
                                                                "temporary_buffer",
                                                                "pinned host memory",
                                                                "of pinned memory",
                                                                "ran out of memory trying",
                                                                "in-use chunks",
                                                                "total_region_alloc",
                                                                "dst tensor is not",
                                                                "convolution",
                                                                "cublas handle",
                                                                "resource exhausted",
                                                                "resourceexhausted",
                                                                "resource_exhausted",
                                                                "ran out of memory in",
                                                                "allocating device buffer",
                                                                "xla_python_client",
                                                                "hbm capacity",
                                                                "bottom of memory",
                                                                "bytes free, ",
                                                                "capture cuda graph",
                                                                "allocate cpu",
                                                                "cpu_buffer_type",
                                                                "cache blocks",
                                                                "kv cache",
                                                                "kv buffer size",
                                                                "kv_size = ",
                                                                "n_ctx_per_seq",
                                                                "model buffer size",
                                                                "gpu memory utilization",
                                                                "memory profiling",
                                                                "model weights take",
                                                                "model loading took",
                                                                "gpu blocks:",
                                                                "graph capturing",
                                                                "warming up sampler",
                                                                "mem-fraction",
                                                                "load weight end",
                                                                "memory pool end",
                                                                "maximum pool size",
                                                                "rmm::",
                                                                "rmm failure",
                                                                "rmm_error",
                                                                "std::bad_alloc",
                                                                "cupy.cuda.memory",
                                                                "cuda_error_out_of",
                                                                "cannot allocate",
                                                                "requested buffer",
                                                                "bfcarena",
                                                                "outofmemory",
                                                                "requested amount",
                                                                "tactic device",
                                                                "cudamalloc",
                                                                "failed to allocate cuda",
                                                                "failed to allocate compute",
                                                                "fail to allocate",
                                                                "to reserve",
                                                                "cannot reserve",
                                                                "not reserve",
                                                                "to allocate",
                                                                "not allocate",
                                                                "allocator",
                                                                "out of memory allocating",
                                                                "from device: ",
                                                                "failed to allocate buffer",
                                                                "in function alloc at",
                                                                "unable to allocate",
                                                                "ggml_backend_cuda",
                                                                "more system memory",
                                                                "more vram than"});

}  // namespace

// Where the first shape that a line has says only that memory ran out, another that reads figures of it says whose it
// is: "Resource exhausted: Ran out of memory in memory space hbm. Used 18.7G of 8.0G hbm." is the compiler's.
std::optional<ForeignDump> parse_foreign(std::string_view text) {
  std::optional<ForeignDump> found;
  for (const ForeignShape& shape : foreign_shapes()) {
    if (!contains_ignoring_case(text, shape.words) || !is_meant(shape, text)) continue;
    ForeignDump dump{.program = std::string(shape.program),
                     .kind = shape.kind,
                     .message = cut_text(trim(text), kLongestForeignMessage)};
    read_fields(shape, text, dump);
    if (shape.program == "tensorflow") {
      read_tensor(text, dump);
      if (text.contains("device:CPU") || text.contains("by allocator cpu")) dump.kind = ForeignKind::kHost;
    }
    const bool has_figures = !dump.sizes.empty() || !dump.numbers.empty();
    if (has_figures || !found) found = std::move(dump);
    if (has_figures || found->kind != ForeignKind::kOutOfMemory) break;
  }
  return found;
}

const TextFormat kForeignFormat{"foreign", kForeignWords,
                                [] { return std::unique_ptr<TextReader>(new ForeignReader); }};

}  // namespace vramfit::ingest
