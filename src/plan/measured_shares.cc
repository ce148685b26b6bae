#include "plan/measured_shares.h"

#include <fmt/format.h>

#include "plan/forecast.h"

namespace vramfit::plan {
namespace {

double divide(double with, double without) { return without > 0 ? with / without : 1; }

}  // namespace

const model::StagePeak* find_same_stage(const std::vector<model::StagePeak>& moments, const model::StagePeak& moment) {
  for (const model::StagePeak& other : moments) {
    if (other.phase == moment.phase && other.stage == moment.stage) return &other;
  }
  return nullptr;
}

std::string measured_key(const model::Change& change) {
  if (const auto other = model::find_text(change, "to")) return change.technique + ":" + *other;
  if (const auto count = model::find_integer(change, "per_side")) return fmt::format("{}:{}", change.technique, *count);
  if (const auto count = model::find_integer(change, "parts")) return fmt::format("{}:{}", change.technique, *count);
  if (const auto scale = model::find_number(change, "scale")) return fmt::format("{}:{:g}", change.technique, *scale);
  if (const auto share = model::find_number(change, "share")) return fmt::format("{}:{:g}", change.technique, *share);
  if (const auto share = model::find_number(change, "budget")) return fmt::format("{}:{:g}", change.technique, *share);
  if (const auto dtype = model::find_text(change, "weights")) return change.technique + ":" + *dtype;
  if (model::find_integer(change, "linear")) return change.technique + ":linear";
  return change.technique;
}

bool is_measured_by(std::string_view key, std::string_view technique) {
  return key.starts_with(technique) && (key.size() == technique.size() || key[technique.size()] == ':');
}

double share_of(base::Bytes with, base::Bytes without) {
  return without > base::Bytes(0) ? static_cast<double>(with.count()) / static_cast<double>(without.count()) : 1;
}

void scale_work_to(const model::StepWork& with, const model::StepWork& without, model::StepWork& work) {
  for (std::size_t i = 0; i < work.macs.size(); ++i) work.macs[i] *= divide(with.macs[i], without.macs[i]);
  work.matmul_bytes *= divide(with.matmul_bytes, without.matmul_bytes);
  work.other_bytes *= divide(with.other_bytes, without.other_bytes);
  work.launches *= divide(with.launches, without.launches);
  work.optimizer_launches *= divide(with.optimizer_launches, without.optimizer_launches);
}

void scale_gathered_graphs(const model::Job& job, double share, model::Holdings& holdings) {
  if (job.gathered && job.gathered->keeps_graphs) holdings.gathered = scaled(holdings.gathered, share);
}

}  // namespace vramfit::plan
