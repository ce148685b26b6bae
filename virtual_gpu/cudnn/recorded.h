// Workspaces that a real cuDNN offered for the convolutions of published networks, recorded beforehand
// (tools/record_cudnn_workspaces), and how to read one for another batch size.
#ifndef VRAMFIT_VIRTUAL_GPU_CUDNN_RECORDED_H
#define VRAMFIT_VIRTUAL_GPU_CUDNN_RECORDED_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "virtual_gpu/cudnn/convolution_parts.h"
#include "virtual_gpu/cudnn/descriptor.h"

namespace vramfit::cudnn {

// Element type and layout: {float32, float16, bfloat16} x {NCHW, NHWC}.
inline constexpr uint32_t kCases = 6;

// One convolution without its batch: channels, height, width, output channels, then pairs: kernel, stride, padding,
// dilation; groups.
struct Layer {
  int32_t channels = 0, height = 0, width = 0, outputs = 0;
  std::array<int32_t, 2> kernel{}, stride{}, padding{}, dilation{};
  int32_t groups = 1;
  bool operator==(const Layer&) const = default;
};
static_assert(sizeof(Layer) == 13 * sizeof(int32_t));

struct Problem {
  int capability = 0;  // 86 for 8.6
  Direction direction = Direction::kForward;
  uint32_t kind = 0;  // of kCases
  int32_t batch = 0;
  Layer layer;
};

enum class Match {
  kExact,      // this very convolution
  kOtherBatch  // it, at the nearest recorded batch; its workspace scaled by the tensors' bytes
};

struct Found {
  Match match = Match::kExact;
  std::vector<Choice> choices;
};

// A view of the packed table; the bytes must outlive it.
class RecordedTable {
 public:
  // Nothing for bytes that are not such a table, whole.
  static std::optional<RecordedTable> open(std::string_view bytes);

  // Nothing for a card older than all recorded ones, or for a convolution that was not recorded at any batch;
  // docs/decisions/0004 says why not a similar one. A capability between recorded ones reads as the one below it.
  std::optional<Found> find(const Problem& problem) const;
  uint32_t cudnn_version() const { return version_; }

 private:
  struct Plan {
    int64_t workspace_bytes;
    int32_t engine;
    uint32_t flags;  // 1: tensor cores, 2: not deterministic
  };
  static_assert(sizeof(Plan) == 16);

  std::optional<uint32_t> list_at(uint32_t capability, const Problem& problem, size_t batch, size_t layer) const;
  std::optional<Found> find_layer(uint32_t capability, const Problem& problem, size_t layer) const;
  std::vector<Choice> choices(uint32_t list, double scale) const;

  uint32_t version_ = 0, lists_ = 0;
  std::vector<uint32_t> capabilities_, batches_;
  std::vector<Layer> layers_;
  const uint32_t* index_ = nullptr;  // [capability][direction][case][batch][layer] -> list
  const uint32_t* first_ = nullptr;  // list -> its first plan; one more at the end
  const Plan* plans_ = nullptr;
};

// The 2-d convolution that an operation graph of one operation stands for, without capability.
std::optional<Problem> problem_of(const Node& graph);

}  // namespace vramfit::cudnn

#endif
