#include <algorithm>
#include <array>
#include <utility>

#include "ingest/text/cursor.h"
#include "ingest/text/line_text.h"
#include "ingest/text/oom_message.h"
#include "ingest/text/printed_size.h"

namespace vramfit::ingest {
namespace {

using model::OomDevice;
using model::OomForm;
using model::OomMessage;
using model::PrintedBytes;

// 2^60 and more is what "no limit" and "the driver does not tell" look like (2^64 - 1, printed as 17179869184.00 GiB).
constexpr std::int64_t kNotASize = std::int64_t{1} << 60;
constexpr std::size_t kLookBack =
    160;  // letters between "out of memory" and "Tried to allocate" (MPS has a list there)

// The letters of a text without blanks, and the same in lower case.
struct Letters {
  std::string exact, folded;
};

Letters squeeze(std::string_view text) {
  Letters letters;
  letters.exact.reserve(text.size());
  for (const char letter : text) {
    if (!is_blank(letter) && letter != '\n' && letter != '\r') letters.exact += letter;
  }
  letters.folded = letters.exact;
  std::transform(letters.folded.begin(), letters.folded.end(), letters.folded.begin(), lower);
  return letters;
}

constexpr std::array<std::string_view, 9> kUnitWords{"bytes", "kib", "mib", "gib", "tib", "kb", "mb", "gb", "tb"};

std::optional<PrintedBytes> size_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_number_letter(text[end])) ++end;
  for (const std::string_view unit : kUnitWords) {
    if (text.substr(end).starts_with(unit)) {
      return printed_bytes(text.substr(at, end - at), unit_bytes(unit), Rounding::kNearest);
    }
  }
  return std::nullopt;
}

std::optional<PrintedBytes> size_behind(std::string_view text, std::string_view label) {
  std::size_t at = text.find(label);
  if (at == kNowhere) return std::nullopt;
  at += label.size();
  while (at < text.size() && (text[at] == ':' || text[at] == '=')) ++at;
  return size_at(text, at);
}

// The size that ends where `label` begins. `label` may occur several times: the first with a size before it counts.
std::optional<PrintedBytes> size_ending_at(std::string_view text, std::string_view label) {
  for (std::size_t at = text.find(label); at != kNowhere; at = text.find(label, at + 1)) {
    for (const std::string_view unit : kUnitWords) {
      if (!text.substr(0, at).ends_with(unit)) continue;
      std::size_t begin = at - unit.size();
      while (begin > 0 && is_number_letter(text[begin - 1])) --begin;
      while (begin < at && !is_digit(text[begin])) ++begin;  // "free.5.00gib": the point is a sentence's
      if (const auto size = size_at(text, begin)) return size;
    }
  }
  return std::nullopt;
}

std::optional<PrintedBytes> real_size(std::optional<PrintedBytes> size) {
  return size && size->value.count() < kNotASize ? size : std::nullopt;
}

std::optional<std::int64_t> integer_at(std::string_view text, std::size_t at) {
  Cursor cursor(text.substr(std::min(at, text.size())));
  return cursor.take_integer();
}

// ---- one message: its letters from the anchor to the next message
// ----------------------------------------------------

void read_processes(std::string_view text, OomMessage& message) {
  constexpr std::string_view kProcess = "process";
  for (std::size_t at = text.find(kProcess); at != kNowhere; at = text.find(kProcess, at + 1)) {
    Cursor cursor(text.substr(at + kProcess.size()));
    const auto pid = cursor.take_integer();
    if (!cursor.take("has")) continue;
    const auto size = real_size(size_at(cursor.rest(), 0));
    if (!size) continue;
    if (pid) {
      message.processes.push_back({*pid, *size});
    } else if (text.substr(0, at).ends_with("this")) {
      message.this_process = size;
    }
  }
}

void read_gpu(std::string_view text, OomMessage& message) {
  for (const std::string_view label : {"(gpu", "(npu", "(xpu", "(mlu", "(cuda", "(musa", "(device"}) {
    if (const std::size_t at = text.find(label); at != kNowhere) {
      if (const auto index = integer_at(text, at + label.size()); index && *index < 4096)
        message.gpu = static_cast<int>(*index);
      if (message.gpu) return;
    }
  }
  for (const std::string_view label : {"gpu", "npu", "xpu", "ondevice"}) {
    for (std::size_t at = text.find(label); at != kNowhere && !message.gpu; at = text.find(label, at + 1)) {
      const auto index = integer_at(text, at + label.size());
      if (index && *index >= 0 && *index < 4096) message.gpu = static_cast<int>(*index);
    }
  }
}

void read_hints(std::string_view text, OomMessage& message) {
  for (const std::string_view hint :
       {"max_split_size_mb", "expandable_segments:true", "garbage_collection_threshold"}) {
    if (!text.contains(hint)) continue;
    message.hints.emplace_back(hint == "expandable_segments:true" ? "expandable_segments:True" : std::string(hint));
  }
  for (const std::string_view name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF",
                                      "PYTORCH_NPU_ALLOC_CONF", "PYTORCH_MPS_HIGH_WATERMARK_RATIO"}) {
    std::string folded(name);
    std::transform(folded.begin(), folded.end(), folded.begin(), lower);
    if (text.contains(folded)) {
      message.hint_variable = name;
      return;
    }
  }
}

void read_clauses(std::string_view text, OomMessage& message) {
  message.tried = size_behind(text, "triedtoallocate");
  message.total = size_ending_at(text, "totalcapac");
  if (!message.total) message.total = size_behind(text, "totalcapacityof");
  if (!message.total) message.total = size_behind(text, "totalcapactyof");
  for (const std::string_view label : {"isfree", "free;", "free)", "free,"}) {
    if (!message.free) message.free = size_ending_at(text, label);
  }
  // HIP counts what is free below zero on a chip that lends the host's memory: 17179869184 GiB of 512 MiB.
  if (message.free && message.total && message.free->low > message.total->high) message.free = PrintedBytes{};
  message.allocated = size_ending_at(text, "alreadyallocated");
  if (!message.allocated) message.allocated = size_ending_at(text, "isallocatedbypytorch");
  if (!message.allocated) message.allocated = size_behind(text, "oftheallocatedmemory");
  if (!message.allocated) message.allocated = size_behind(text, "mpsallocated");
  message.reserved = size_ending_at(text, "reservedintotal");
  message.cached = size_ending_at(text, "cached");
  message.unallocated = size_ending_at(text, "isreservedbypytorchbutunallocated");
  message.private_pools = size_ending_at(text, "allocatedinprivatepools");
  message.allowed = real_size(size_ending_at(text, "allowed;"));
  if (!message.allowed) message.allowed = real_size(size_behind(text, "maxallowed"));
  message.metal = size_behind(text, "otherallocations");
  read_processes(text, message);
  read_gpu(text, message);
  read_hints(text, message);
}

// The cudaMallocAsync back end's list.
void read_async(std::string_view text, OomMessage& message) {
  message.form = OomForm::kMallocAsync;
  message.allocated = size_behind(text, "currentlyallocated");
  message.tried = size_behind(text, "requested");
  message.total = size_behind(text, "devicelimit");
  message.free = size_behind(text, "free(accordingtocuda)");
  message.allowed = real_size(size_behind(text, "pytorchlimit(setbyuser-suppliedmemoryfraction)"));
  read_gpu(text, message);
  message.truncated = !message.allocated || !message.tried || !message.total || !message.free;
}

void set_form(std::string_view text, OomMessage& message) {
  const bool old_style = text.contains("totalcapacity;") || message.reserved || message.cached;
  if (text.contains("triedtoallocatemorethan1eb")) {
    message.form = OomForm::kMoreThanExabyte;
  } else if (message.device == OomDevice::kHost) {
    message.form = OomForm::kHost;
  } else if (message.device == OomDevice::kMps) {
    message.form = OomForm::kMps;
  } else if (text.contains("hasatotalcapacty")) {
    message.form = OomForm::kProcesses;
  } else if (text.contains("hasatotalcapacity")) {
    message.form = OomForm::kProcessesHint;
  } else if (old_style && message.reserved) {
    message.form = message.hints.empty() ? OomForm::kReservedTotal : OomForm::kReservedHint;
  } else if (old_style && message.cached) {
    message.form = OomForm::kCachedTotal;
  }
  const bool whole = message.reserved || message.cached || message.unallocated || message.form == OomForm::kMps ||
                     message.form == OomForm::kHost || message.form == OomForm::kMoreThanExabyte;
  message.truncated = !whole || (!message.tried && message.form != OomForm::kMoreThanExabyte);
}

OomDevice device_before(std::string_view before) {
  static constexpr std::array<std::pair<std::string_view, OomDevice>, 10> kNames{
      {{"cuda", OomDevice::kCuda},
       {"hip", OomDevice::kHip},
       {"rocm", OomDevice::kHip},
       {"xpu", OomDevice::kXpu},
       {"npu", OomDevice::kNpu},
       {"mpsbackend", OomDevice::kMps},
       {"mps", OomDevice::kMps},
       {"mlu", OomDevice::kOther},
       {"musa", OomDevice::kOther},
       {"privateuseone", OomDevice::kOther}}};
  for (const auto& [name, device] : kNames) {
    if (before.ends_with(name)) return device;
  }
  return OomDevice::kUnknown;
}

// "torch.cuda.OutOfMemoryError" of "...torch.cuda.OutOfMemoryError:" at the end of `before`.
std::string exception_before(std::string_view before) {
  if (!before.ends_with(':')) return {};
  before.remove_suffix(1);
  std::size_t begin = before.size();
  while (begin > 0 && (is_word(before[begin - 1]) || before[begin - 1] == '.')) --begin;
  const std::string_view name = before.substr(begin);
  return name.ends_with("Error") || name.ends_with("Exception") ? std::string(name) : std::string();
}

OomMessage read_full(const Letters& letters, std::size_t begin, std::size_t anchor, std::size_t end) {
  const std::string_view folded = std::string_view(letters.folded).substr(begin, end - begin);
  OomMessage message;
  const std::string_view before = std::string_view(letters.folded).substr(0, anchor);
  if (before.ends_with("you")) {
    message.device = OomDevice::kHost;
  } else if (const std::size_t oom = folded.find("outofmemory"); oom != kNowhere && begin + oom < anchor) {
    message.device = device_before(folded.substr(0, oom));
  }
  // The exception's name stands before "CUDA out of memory" or, in 1EB's form, before the anchor.
  for (std::size_t at = begin; at <= anchor && message.exception.empty(); ++at) {
    if (at > 0 && letters.exact[at - 1] == ':')
      message.exception = exception_before(std::string_view(letters.exact).substr(0, at));
  }
  read_clauses(folded, message);
  set_form(folded, message);
  return message;
}

constexpr std::string_view kAnchor = "triedtoallocate";

// The beginning of the message around the anchor at `anchor`: at its "... out of memory", if it has one of its own.
std::size_t message_begin(std::string_view folded, std::size_t anchor, std::size_t floor) {
  const std::size_t least = std::max(floor, anchor > kLookBack ? anchor - kLookBack : 0);
  const std::size_t oom = folded.substr(0, anchor).rfind("outofmemory");
  if (oom == kNowhere || oom < least) return anchor;
  std::size_t begin = oom;
  while (begin > least && is_letter(folded[begin - 1])) --begin;
  return begin;
}

std::vector<OomMessage> read_full_messages(const Letters& letters) {
  std::vector<OomMessage> messages;
  const std::string_view folded = letters.folded;
  std::size_t floor = 0;
  for (std::size_t anchor = folded.find(kAnchor); anchor != kNowhere;) {
    const std::size_t next = folded.find(kAnchor, anchor + kAnchor.size());
    const std::size_t end = next == kNowhere ? folded.size() : message_begin(folded, next, anchor + kAnchor.size());
    messages.push_back(read_full(letters, message_begin(folded, anchor, floor), anchor, end));
    floor = end;
    anchor = next;
  }
  return messages;
}

// ---- messages without "Tried to allocate" ---------------------------------------------------------------------------

struct Numberless {
  std::string_view letters;
  OomForm form;
  OomDevice device;
};
constexpr std::array<Numberless, 11> kNumberless{{
    {"cudaruntimeerror(2):outofmemory", OomForm::kRuntimeError2, OomDevice::kCuda},
    {"cudaruntimeerr(2):outofmemory", OomForm::kRuntimeError2, OomDevice::kCuda},
    {"error=2:outofmemory", OomForm::kRuntimeError2, OomDevice::kCuda},
    {"cudaerror:outofmemory", OomForm::kNumberless, OomDevice::kCuda},
    {"cudadrivererror:outofmemory", OomForm::kNumberless, OomDevice::kCuda},
    {"cudaerror(2):outofmemory", OomForm::kNumberless, OomDevice::kCuda},
    {"hiperror:outofmemory", OomForm::kNumberless, OomDevice::kHip},
    {"hiperroroutofmemory", OomForm::kNumberless, OomDevice::kHip},
    {"cudaoutofmemory", OomForm::kPartial, OomDevice::kCuda},
    {"hipoutofmemory", OomForm::kPartial, OomDevice::kHip},
    {"npuoutofmemory", OomForm::kPartial, OomDevice::kNpu},
}};

// A sentence or a line of code that only mentions the words is not a message: `raise RuntimeError("CUDA out of
// memory")`, "if you run into CUDA out of memory, ...". A message stands at the start of its text or behind ": ".
bool stands_alone(std::string_view line, std::string_view words) {
  const std::size_t at = find_ignoring_case(line, words);
  if (at == kNowhere) return true;  // wrapped: the letters told
  const std::string_view before = trim(line.substr(0, at));
  const std::string_view after = trim(line.substr(at + words.size()));
  if (before.contains("raise ") || before.contains("except") || before.ends_with("in") || before.contains("if "))
    return false;
  if (!before.empty() && !before.ends_with(':') && !before.ends_with('|') && !before.ends_with('-') &&
      !before.ends_with(']') && !before.ends_with('>')) {
    return false;
  }
  return after.empty() || after.starts_with('.') || after.starts_with(':') || after.starts_with('(') ||
         after.starts_with("at ") || after.starts_with('!');
}

std::optional<OomMessage> read_numberless(const Letters& letters, std::string_view line) {
  const std::string_view folded = letters.folded;
  for (const Numberless& shape : kNumberless) {
    const std::size_t at = folded.find(shape.letters);
    if (at == kNowhere) continue;
    if (shape.form == OomForm::kNumberless && !stands_alone(line, "out of memory")) return std::nullopt;
    if (shape.form == OomForm::kPartial &&
        !stands_alone(line, shape.device == OomDevice::kCuda  ? "cuda out of memory"
                            : shape.device == OomDevice::kHip ? "hip out of memory"
                                                              : "npu out of memory")) {
      return std::nullopt;
    }
    OomMessage message{.form = shape.form, .device = shape.device};
    message.exception = exception_before(std::string_view(letters.exact).substr(0, at));
    message.truncated = shape.form == OomForm::kPartial;
    read_gpu(folded.substr(at), message);
    return message;
  }
  return std::nullopt;
}

std::optional<OomMessage> read_async_message(const Letters& letters) {
  constexpr std::string_view kStart = "allocationondevice";
  const std::string_view folded = letters.folded;
  const std::size_t at = folded.find(kStart);
  if (at == kNowhere) return std::nullopt;
  const std::string exception = exception_before(std::string_view(letters.exact).substr(0, at));
  if (!folded.contains("wouldexceedallowedmemory") && exception.empty()) return std::nullopt;
  OomMessage message{.device = OomDevice::kCuda, .exception = exception};
  read_async(folded.substr(at), message);
  return message;
}

// The clauses of a message whose beginning is lost.
std::optional<OomMessage> read_headless(const Letters& letters) {
  const std::string_view folded = letters.folded;
  if (!folded.contains("totalcapac") && !folded.contains("reservedbypytorch") &&
      !folded.contains("reservedintotalbypytorch"))
    return std::nullopt;
  OomMessage message;
  read_clauses(folded, message);
  set_form(folded, message);
  const int clauses = message.total.has_value() + message.free.has_value() + message.allocated.has_value() +
                      message.reserved.has_value() + message.unallocated.has_value() + message.allowed.has_value();
  return clauses >= 2 ? std::optional(message) : std::nullopt;
}

}  // namespace

std::vector<OomMessage> parse_oom_messages(std::string_view text) {
  const Letters letters = squeeze(text);
  std::vector<OomMessage> messages = read_full_messages(letters);
  if (!messages.empty()) return messages;
  for (auto message : {read_async_message(letters), read_headless(letters), read_numberless(letters, text)}) {
    if (message) return {std::move(*message)};
  }
  return {};
}

}  // namespace vramfit::ingest
