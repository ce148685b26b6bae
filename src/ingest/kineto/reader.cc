#include "ingest/kineto/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>
#include <span>
#include <streambuf>

#include "ingest/kineto/callers.h"
#include "ingest/pickle/source.h"
#include "ingest/snapshot/container.h"

namespace vramfit::ingest {

namespace {

using base::ErrorCode;
using nlohmann::json;

// Traces get 10 to 20 times smaller when they are packed. What comes out of one has to be parsed, and events are kept.
constexpr std::uint64_t kLeastUnpacked = std::uint64_t{256} << 20, kMostUnpacked = std::uint64_t{8} << 30;
constexpr std::uint64_t kUnpackedOfByte = 40;
constexpr std::uint64_t kLongestString = std::uint64_t{64} << 20;  // the parser keeps each as a whole
constexpr std::size_t kLongestText = 1 << 16;                      // longer values are cut: stacks, not names
constexpr int kCudaDevice = 1;                                     // c10::DeviceType::CUDA

// Names of Python functions can hold anything: torch 2.6 writes some that are damaged as they are, with control
// characters that JSON forbids and bytes that are no UTF-8.
bool is_foul(char letter) {
  const auto code = static_cast<unsigned char>(letter);
  return code >= 0x80 || (code < 0x20 && code != '\n' && code != '\r' && code != '\t');
}

// Bytes of a Source as a stream, up to limits that no trace comes near.
class SourceBuffer final : public std::streambuf {
 public:
  SourceBuffer(pickle::Source& source, std::uint64_t most) : source_(source), most_(most) {}
  bool is_damaged() const { return is_damaged_; }
  bool is_too_long() const { return read_ > most_ || read_ - last_quote_ > kLongestString; }

 protected:
  int_type underflow() override {
    if (is_damaged_ || is_too_long()) return traits_type::eof();
    const auto got = source_.read(room_);
    is_damaged_ = !got;
    if (!got || *got == 0) return traits_type::eof();
    const std::size_t quote = std::string_view(room_.data(), *got).rfind('"');
    if (quote != std::string_view::npos) last_quote_ = read_ + quote;
    read_ += *got;
    std::ranges::replace_if(std::span(room_.data(), *got), is_foul, '?');
    setg(room_.data(), room_.data(), room_.data() + *got);
    return traits_type::to_int_type(*gptr());
  }

 private:
  pickle::Source& source_;
  std::array<char, 1 << 16> room_{};
  std::uint64_t most_;
  std::uint64_t read_ = 0, last_quote_ = 0;  // bytes, and those before the last quotation mark
  bool is_damaged_ = false;
};

// One object of traceEvents or deviceProperties, as far as it matters here.
struct Fields {
  std::string phase, category, name, thread, call_stack;
  double at_us = 0, for_us = 0;
  int device_type = -1, device = -1, id = 0;
  std::int64_t bytes = 0, memory_bytes = 0;
  std::uint64_t address = 0;
  std::optional<std::int64_t> allocated, reserved;
};

//   { "deviceProperties": [ {..} ], "traceEvents": [ { .., "args": {..} } ] }      depth 1 at the outer keys,
//   ^ 1                   ^ 2 ^ 3                           ^ 4                    3 in an entry, 4 in its args
class Handler final : public nlohmann::json_sax<json> {
 public:
  explicit Handler(model::KinetoTrace& trace) : trace_(trace) {}

  bool saw_events() const { return saw_events_; }
  kineto::Callers& callers() { return callers_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return number(value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (is_args() && key_ == "Addr") fields_.address = value;
    return number(static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) override {
    set_time(value);
    return true;
  }
  bool string(string_t& value) override {
    if (depth_ == kEntry) {
      if (key_ == "ph") fields_.phase = value;
      if (key_ == "cat") fields_.category = value;
      if (key_ == "name") fields_.name = value.substr(0, kLongestText);
      if (key_ == "tid") fields_.thread = value;
    }
    if (is_args() && key_ == "Call stack") fields_.call_stack = value.substr(0, kLongestText);
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    if (++depth_ == kEntry) fields_ = {};
    if (depth_ == kArguments) is_args_ = key_ == "args";
    return true;
  }
  bool end_object() override {
    if (depth_ == kEntry && section_ == "traceEvents") add_event();
    if (depth_ == kEntry && section_ == "deviceProperties") {
      trace_.devices.push_back({fields_.id, fields_.name, fields_.memory_bytes});
    }
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    // Some traces are the bare list of events.
    if (depth_ == 0) section_ = "traceEvents", ++depth_;
    ++depth_;
    if (depth_ == 2 && section_ == "traceEvents") saw_events_ = true;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(string_t& value) override {
    key_ = value;
    if (depth_ == 1) section_ = value;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override { return false; }

 private:
  static constexpr int kEntry = 3, kArguments = 4;

  bool is_args() const { return depth_ == kArguments && is_args_; }
  void set_time(double value) {
    if (depth_ != kEntry || !std::isfinite(value)) return;
    if (key_ == "ts") fields_.at_us = value;
    if (key_ == "dur") fields_.for_us = value;
  }
  bool number(std::int64_t value) {
    set_time(static_cast<double>(value));
    if (depth_ == kEntry) {
      if (key_ == "tid") fields_.thread = std::to_string(value);
      if (key_ == "id") fields_.id = static_cast<int>(value);
      if (key_ == "totalGlobalMem") fields_.memory_bytes = value;
    }
    if (!is_args()) return true;
    if (key_ == "Device Type") fields_.device_type = static_cast<int>(value);
    if (key_ == "Device Id") fields_.device = static_cast<int>(value);
    if (key_ == "Bytes") fields_.bytes = value;
    if (key_ == "Total Allocated") fields_.allocated = value;
    if (key_ == "Total Reserved") fields_.reserved = value;
    return true;
  }
  void add_event() {
    ++trace_.events;
    if (fields_.name == "[memory]") {
      if (fields_.device_type != kCudaDevice || fields_.device < 0 || fields_.bytes == 0) return;
      callers_.add_memory(fields_.thread, {fields_.device, 0, fields_.at_us, fields_.bytes, fields_.address,
                                           fields_.allocated, fields_.reserved});
    } else if (fields_.phase == "X" && (fields_.category == "cpu_op" || fields_.category == "Operator")) {
      callers_.add_operator(fields_.thread, fields_.at_us, fields_.for_us, fields_.name, fields_.call_stack);
    } else if (fields_.phase == "X" && fields_.category == "python_function") {
      callers_.add_function(fields_.thread, fields_.at_us, fields_.for_us, fields_.name);
    }
  }

  model::KinetoTrace& trace_;
  kineto::Callers callers_;
  Fields fields_;
  std::string key_, section_;
  int depth_ = 0;
  bool is_args_ = false, saw_events_ = false;
};

base::Result<model::KinetoTrace> read(pickle::Storage& storage, std::string_view name) {
  auto opened = snapshot::open_container(storage);
  if (!opened) return std::unexpected(opened.error());
  const bool packed = opened->packing != snapshot::Packing::kNone;
  const std::uint64_t most =
      packed ? std::min(kMostUnpacked, kLeastUnpacked + kUnpackedOfByte * std::min(storage.size(), kMostUnpacked))
             : kMostUnpacked;
  SourceBuffer buffer(*opened->source, most);
  std::istream stream(&buffer);
  model::KinetoTrace trace;
  Handler handler(trace);
  trace.is_cut = !json::sax_parse(stream, &handler) || buffer.is_damaged();
  if (buffer.is_too_long()) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("the trace {} to more than {} MiB, or has a text of more than {} MiB",
                                  packed ? "unpacks" : "comes", most >> 20, kLongestString >> 20),
                      std::string(name),
                      packed ? "unpack it first (gunzip), or record fewer steps" : "record fewer steps");
  }
  if (!handler.saw_events()) {
    return base::fail(ErrorCode::kUsage, "this JSON is no Kineto trace: it has no traceEvents", std::string(name),
                      "torch.profiler's export_chrome_trace(\"trace.json\") writes one");
  }
  handler.callers().finish(trace);
  if (trace.memory.empty()) {
    return base::fail(ErrorCode::kUsage, "the trace tells nothing of a card's memory", std::string(name),
                      "record it with torch.profiler.profile(profile_memory=True)");
  }
  return trace;
}

}  // namespace

bool sniff_kineto(const std::filesystem::path& path) {
  auto storage = pickle::FileStorage::open(path);
  if (!storage) return false;
  const auto opened = snapshot::open_container(*storage);
  if (!opened || opened->packing == snapshot::Packing::kZip) return false;
  std::array<char, 64> head{};
  const auto got = opened->source->read(head);
  if (!got) return false;
  const std::string_view start(head.data(), *got);
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (start[first] == '{' || start[first] == '[');
}

base::Result<model::KinetoTrace> read_kineto(const std::filesystem::path& path) {
  auto storage = pickle::FileStorage::open(path);
  if (!storage) return std::unexpected(storage.error());
  return read(*storage, path.string());
}

base::Result<model::KinetoTrace> parse_kineto(std::span<const std::byte> bytes, std::string_view name) {
  pickle::MemoryStorage storage(bytes);
  return read(storage, name);
}

}  // namespace vramfit::ingest
