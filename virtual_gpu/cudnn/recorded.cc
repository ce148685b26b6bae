#include "virtual_gpu/cudnn/recorded.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace vramfit::cudnn {
namespace {

constexpr std::string_view kMagic("VFCW\x01\0\0\0", 8);
constexpr uint32_t kNoList = 0xFFFFFFFF;
constexpr uint32_t kDirections = 3;
// A workspace below this holds counters, not copies of tensors: it does not grow with them.
constexpr int64_t kScaledFromBytes = 1 << 16;

// Takes fields off the front of the table; null once it is too short.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}
  const char* take(size_t count, size_t size) {
    if (bytes_.size() - at_ < count * size) return nullptr;
    const char* field = bytes_.data() + at_;
    at_ += count * size;
    return field;
  }
  const char* take_aligned(size_t count, size_t size) {
    at_ = std::min(bytes_.size(), (at_ + 7) / 8 * 8);
    return take(count, size);
  }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

template <typename T>
std::vector<T> copy_of(const char* field, size_t count) {
  std::vector<T> values(count);
  if (count > 0) std::memcpy(values.data(), field, count * sizeof(T));
  return values;
}

int32_t output_side(int32_t side, const Layer& layer, size_t axis) {
  const int32_t span = layer.dilation[axis] * (layer.kernel[axis] - 1) + 1;
  return std::max(1, (side + 2 * layer.padding[axis] - span) / std::max(1, layer.stride[axis]) + 1);
}

double elements(const Layer& layer, int32_t batch) {
  const double input = 1.0 * batch * layer.channels * layer.height * layer.width;
  const double output =
      1.0 * batch * layer.outputs * output_side(layer.height, layer, 0) * output_side(layer.width, layer, 1);
  const double filter = 1.0 * layer.outputs * layer.channels / layer.groups * layer.kernel[0] * layer.kernel[1];
  return input + output + filter;
}

}  // namespace

std::optional<RecordedTable> RecordedTable::open(std::string_view bytes) {
  Cursor cursor(bytes);
  const char* magic = cursor.take(1, kMagic.size());
  if (magic == nullptr || std::string_view(magic, kMagic.size()) != kMagic) return std::nullopt;
  const char* field = cursor.take(6, sizeof(uint32_t));
  if (field == nullptr) return std::nullopt;
  const auto counts = copy_of<uint32_t>(field, 6);
  if (std::ranges::any_of(counts, [](uint32_t count) { return count > 1u << 24; })) return std::nullopt;
  RecordedTable table;
  table.version_ = counts[0];
  const uint32_t capabilities = counts[1], batches = counts[2], layers = counts[3], lists = counts[4],
                 plans = counts[5];
  if (uint64_t{capabilities} * batches * layers > 1u << 24) return std::nullopt;
  const char* capability_field = cursor.take(capabilities, sizeof(uint32_t));
  const char* batch_field = cursor.take(batches, sizeof(uint32_t));
  const char* layer_field = cursor.take(layers, sizeof(Layer));
  const size_t entries = size_t{capabilities} * kDirections * kCases * batches * layers;
  const char* index = cursor.take(entries, sizeof(uint32_t));
  const char* first = cursor.take(size_t{lists} + 1, sizeof(uint32_t));
  const char* plan_field = cursor.take_aligned(plans, sizeof(Plan));
  if (capability_field == nullptr || batch_field == nullptr || layer_field == nullptr || index == nullptr ||
      first == nullptr || plan_field == nullptr || !cursor.at_end()) {
    return std::nullopt;
  }
  table.capabilities_ = copy_of<uint32_t>(capability_field, capabilities);
  table.batches_ = copy_of<uint32_t>(batch_field, batches);
  table.layers_ = copy_of<Layer>(layer_field, layers);
  table.lists_ = lists;
  table.index_ = reinterpret_cast<const uint32_t*>(index);
  table.first_ = reinterpret_cast<const uint32_t*>(first);
  table.plans_ = reinterpret_cast<const Plan*>(plan_field);
  const bool rising = std::is_sorted(table.first_, table.first_ + lists + 1) && table.first_[lists] == plans;
  const bool valid = std::all_of(table.index_, table.index_ + entries,
                                 [lists](uint32_t list) { return list == kNoList || list < lists; });
  return rising && valid ? std::optional(table) : std::nullopt;
}

std::optional<uint32_t> RecordedTable::list_at(uint32_t capability, const Problem& problem, size_t batch,
                                               size_t layer) const {
  size_t at = capability * kDirections + static_cast<uint32_t>(problem.direction);
  at = (at * kCases + problem.kind) * batches_.size() + batch;
  const uint32_t list = index_[at * layers_.size() + layer];
  return list == kNoList ? std::nullopt : std::optional(list);
}

std::vector<Choice> RecordedTable::choices(uint32_t list, double scale) const {
  std::vector<Choice> all;
  for (uint32_t at = first_[list]; at < first_[list + 1]; ++at) {
    const Plan& plan = plans_[at];
    Choice choice{.engine = plan.engine, .workspace_bytes = plan.workspace_bytes, .numerical_notes = {}};
    if (plan.workspace_bytes > kScaledFromBytes) {
      choice.workspace_bytes = static_cast<int64_t>(static_cast<double>(plan.workspace_bytes) * scale);
    }
    if ((plan.flags & 1) != 0) choice.numerical_notes.push_back(kNoteTensorCore);
    if ((plan.flags & 2) != 0) choice.numerical_notes.push_back(kNoteNondeterministic);
    all.push_back(std::move(choice));
  }
  return all;
}

// A layer of the table, at the recorded batch that is nearest by ratio.
std::optional<Found> RecordedTable::find_layer(uint32_t capability, const Problem& problem, size_t layer) const {
  std::optional<Found> best;
  double nearest = 0;
  for (size_t at = 0; at < batches_.size(); ++at) {
    const auto list = list_at(capability, problem, at, layer);
    if (!list) continue;
    const double scale =
        elements(problem.layer, problem.batch) / elements(problem.layer, static_cast<int>(batches_[at]));
    const double ratio = std::abs(std::log2(1.0 * problem.batch / batches_[at]));
    if (best && ratio >= nearest) continue;
    nearest = ratio;
    const bool exact = batches_[at] == static_cast<uint32_t>(problem.batch);
    best = Found{exact ? Match::kExact : Match::kOtherBatch, choices(*list, exact ? 1.0 : scale)};
  }
  return best;
}

std::optional<Found> RecordedTable::find(const Problem& problem) const {
  if (problem.batch < 1 || problem.kind >= kCases || problem.layer.groups < 1) return std::nullopt;
  const auto above = std::ranges::upper_bound(capabilities_, static_cast<uint32_t>(std::max(problem.capability, 0)));
  if (above == capabilities_.begin()) return std::nullopt;
  const auto capability = static_cast<uint32_t>(above - capabilities_.begin() - 1);
  const auto same = std::ranges::find(layers_, problem.layer);
  if (same == layers_.end()) return std::nullopt;
  return find_layer(capability, problem, static_cast<size_t>(same - layers_.begin()));
}

}  // namespace vramfit::cudnn
