// What the cuDNN stand-in asks the oracle, and what it answers: plain values and their bytes on a pipe.
//
// An operation graph is sent as the descriptors the job itself built (type and attributes, as set through
// cudnnBackendSetAttribute), children before parents, so that every operation cuDNN knows can be asked about.
// One frame is a 4-byte little-endian length followed by that many bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

namespace vramfit::cudnn_oracle {

struct Attribute {
  int32_t name = 0;                // cudnnBackendAttributeName_t
  int32_t type = 0;                // cudnnBackendAttributeType_t
  int64_t count = 0;               // elements
  std::string bytes;               // their values, unless they are descriptors
  std::vector<uint32_t> children;  // indices into Question::descriptors when type is BACKEND_DESCRIPTOR
  bool operator==(const Attribute&) const = default;
};

struct Descriptor {
  int32_t type = 0;  // cudnnBackendDescriptorType_t
  std::vector<Attribute> attributes;
  bool operator==(const Descriptor&) const = default;
};

struct Question {
  std::string device_json;  // CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION of the emulated card
  std::vector<Descriptor> descriptors;
  uint32_t graph = 0;          // which of them is the operation graph
  int32_t heuristic_mode = 0;  // cudnnBackendHeurMode_t
  int32_t most = 0;            // how many plans at the most
  bool operator==(const Question&) const = default;
};

struct Plan {
  int64_t engine = -1;  // CUDNN_ATTR_ENGINE_GLOBAL_INDEX
  int64_t workspace_bytes = 0;
  std::vector<int32_t> numerical_notes;  // cudnnBackendNumericalNote_t
  bool operator==(const Plan&) const = default;
};

struct Answer {
  int32_t status = 0;   // cudnnStatus_t of the heuristics query; 0 = answered
  std::string message;  // cuDNN's own words when status is not 0
  int64_t cudnn_version = 0;
  std::vector<Plan> plans;  // in the order the heuristics prefer them; only those cuDNN could build
  bool operator==(const Answer&) const = default;
};

std::string encode(const Question& question);
std::string encode(const Answer& answer);

// The error is what is wrong with the bytes: truncated, an index out of range, trailing bytes.
std::expected<Question, std::string> decode_question(const std::string& bytes);
std::expected<Answer, std::string> decode_answer(const std::string& bytes);

// One frame on a file descriptor. The error is "end" where the other side has closed it (reading: before a frame),
// kLate where the whole frame was not through within the limit, wherever in it the other side stopped. No limit: files,
// and the oracle itself, which waits for questions as long as its job runs.
using Limit = std::optional<std::chrono::milliseconds>;
inline constexpr const char* kLate = "no answer";
std::expected<void, std::string> write_frame(int fd, const std::string& bytes, Limit limit = {});
std::expected<std::string, std::string> read_frame(int fd, Limit limit = {});

}  // namespace vramfit::cudnn_oracle
