#include "plan/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "devices/time_model.h"
#include "model/number_text.h"

namespace vramfit::plan {
namespace {

constexpr std::size_t kMostBranches = 3;
constexpr double kWorthBranch = 0.02;   // of the card
constexpr double kWorthTeacher = 0.02;  // of the card
// PCIe 3.0 x16 as copies of pageable pages see it; managed memory moves pages as they are touched, and is no faster.
constexpr double kPagesPerSecond = 12e9;

Bytes find_most_held(const model::Job& job) {
  Bytes most;
  for (const model::StagePeak& moment : job.stage_peaks) most = std::max(most, model::sum(moment.holdings));
  return most + job.overhead;
}

// -- branches

std::string describe_branch(const model::Branch& branch) {
  const std::string alike = branch.alike > 1 ? fmt::format(" ({} alike)", branch.alike) : "";
  const std::string parts =
      fmt::format("{}: {} of weights, gradients and optimizer state, {} of activations", to_string(branch.total()),
                  to_string(branch.weights + branch.gradients + branch.optimizer), to_string(branch.activations));
  if (branch.training_only) {
    return fmt::format("without {}{}, which no evaluation uses, the training would hold less by {}", branch.name, alike,
                       parts);
  }
  return fmt::format("without {}{} ({} at {}) it would hold less by {}; another network", branch.name, alike,
                     to_string(branch.kind), branch.joins, parts);
}

void advise_branches(const model::ModuleTable& modules, const Target& target, std::vector<std::string>& advice) {
  std::vector<const model::Branch*> worth;
  for (const model::Branch& branch : modules.branches) {
    if (branch.total() >= scaled(target.limit, kWorthBranch)) worth.push_back(&branch);
  }
  std::ranges::stable_sort(worth, [](const model::Branch* a, const model::Branch* b) {
    return a->training_only != b->training_only ? a->training_only : a->total() > b->total();
  });
  if (worth.size() > kMostBranches) worth.resize(kMostBranches);
  for (const model::Branch* branch : worth) advice.push_back(describe_branch(*branch));
}

// -- depthwise separable convolutions

struct ImageShape {
  std::int64_t samples = 0, channels = 0, height = 0, width = 0;
};

// "8x64x56x56 float32"
std::optional<ImageShape> parse_image(const std::string& text) {
  std::array<std::int64_t, 4> sides{};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const auto [after, problem] = std::from_chars(at, end, sides[i]);
    if (problem != std::errc{} || (i + 1 < sides.size() && (after == end || *after != 'x'))) return std::nullopt;
    if (i + 1 == sides.size() && after != end && *after != ' ') return std::nullopt;
    at = after + 1;
  }
  return ImageShape{sides[0], sides[1], sides[2], sides[3]};
}

struct Separable {
  int convolutions = 0;
  Bytes now, then;    // weights, with their gradients and state
  Bytes activations;  // more: what the depthwise half puts out
};

void add_convolution(const model::ModuleRow& row, Separable& found) {
  const model::ModuleUse* use = model::find_use(row, model::phase::kTrain);
  if (row.class_name != "Conv2d" || use == nullptr || use->inputs.empty() || use->outputs.empty()) return;
  const auto in = parse_image(use->inputs.front()), out = parse_image(use->outputs.front());
  if (!in || !out || in->channels <= 1 || row.parameters <= 0) return;
  const double pairs = static_cast<double>(in->channels) * static_cast<double>(out->channels);
  const double kernel = std::floor(static_cast<double>(row.parameters) / pairs);  // a bias is less than a pair
  if (kernel < 9) return;                                                         // 1x1, or in groups already
  const double share = (static_cast<double>(in->channels) * kernel + pairs) / (pairs * kernel);
  const Bytes state = model::held_bytes(row);
  ++found.convolutions;
  found.now += state;
  found.then += scaled(state, share);
  const double bytes = 4.0 * static_cast<double>(in->channels * out->samples * out->height * out->width);
  found.activations += Bytes(static_cast<std::int64_t>(bytes));
}

void advise_separable(const model::ModuleTable& modules, const Target& target, std::vector<std::string>& advice) {
  Separable found;
  for (const model::ModuleRow& row : modules.rows) add_convolution(row, found);
  const Bytes freed = found.now - found.then;
  if (found.convolutions == 0 || freed < scaled(target.limit, kWorthBranch)) return;
  const std::string verdict =
      freed > found.activations
          ? fmt::format("it would free about {} in all", to_string(freed - found.activations))
          : fmt::format("it would need about {} more in all: it saves arithmetic, not memory, at this batch",
                        to_string(found.activations - freed));
  advice.push_back(fmt::format(
      "depthwise separable convolutions in place of {} of 3 x 3 and more: weights, gradients and optimizer state from "
      "{} to {}, but {} of activations more, one for each; {}; another network",
      found.convolutions, to_string(found.now), to_string(found.then), to_string(found.activations), verdict));
}

// -- the host

void advise_host(const model::Job& job, const Target& target, std::vector<std::string>& advice) {
  const Bytes needs = find_most_held(job);
  if (needs <= target.limit) return;
  const Bytes excess = needs - target.limit;
  const double moved = 2 * static_cast<double>(excess.count()) / kPagesPerSecond;
  // Without an optimizer's steps the work is that of the whole pass.
  const model::PhaseFacts* training = model::find_phase(job, model::phase::kTrain);
  const std::string beside =
      training != nullptr && training->steps > 0
          ? fmt::format(" beside a step of about {:.2f} s", devices::estimate_step_seconds(target.card, job.work))
          : "";
  advice.push_back(fmt::format(
      "managed memory (cudaMallocManaged by a pluggable allocator) would keep {} of {} in the host's memory instead of "
      "running out, and move it over PCIe and back each step at least once: {:.2f} s or more{}. The host needs as much "
      "free memory for it; what it has beyond that, its page cache or other programs "
      "change nothing on the card",
      to_string(excess), to_string(needs), moved, beside));
}

void advise_teacher(const model::Job& job, const Target& target, std::vector<std::string>& advice) {
  if (!job.teacher || job.teacher->weights < scaled(target.limit, kWorthTeacher)) return;
  const Bytes own =
      std::max(job.parameter_bytes, job.teacher->weights) == job.teacher->weights ? Bytes(0) : job.parameter_bytes;
  const std::string student = own > Bytes(0) ? fmt::format(", the student's {}", to_string(own)) : "";
  advice.push_back(fmt::format(
      "the teacher's weights ({}) hold {} while the student trains{}: its outputs computed beforehand, once for each "
      "sample, and read with the data, would free all of it, where augmentation does not change the samples",
      job.teacher->class_name, to_string(job.teacher->weights), student));
}

}  // namespace

std::vector<std::string> find_advice(const model::Job& job, const Target& target, const model::ModuleTable* modules) {
  std::vector<std::string> advice = job.advice;
  advise_teacher(job, target, advice);
  if (modules != nullptr) {
    advise_branches(*modules, target, advice);
    advise_separable(*modules, target, advice);
  }
  advise_host(job, target, advice);
  return advice;
}

}  // namespace vramfit::plan
