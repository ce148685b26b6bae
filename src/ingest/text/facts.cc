#include "ingest/text/facts.h"

#include <string>
#include <utility>

namespace vramfit::ingest {
namespace {

using model::Fact;
using model::PrintedBytes;
using model::SourceLine;

class FactList {
 public:
  void add(std::string name, const std::optional<PrintedBytes>& bytes, const SourceLine& at) {
    if (bytes) facts_.push_back({std::move(name), *bytes, std::nullopt, at});
  }
  template <class Number>
  void add_number(std::string name, const std::optional<Number>& number, const SourceLine& at) {
    if (number) facts_.push_back({std::move(name), std::nullopt, static_cast<double>(*number), at});
  }
  std::vector<Fact> take() { return std::move(facts_); }

 private:
  std::vector<Fact> facts_;
};

void add_oom(FactList& facts, const model::OomMessage& oom) {
  facts.add("oom.tried", oom.tried, oom.at);
  facts.add("oom.total", oom.total, oom.at);
  facts.add("oom.free", oom.free, oom.at);
  facts.add("oom.allocated", oom.allocated, oom.at);
  facts.add("oom.reserved_in_total", oom.reserved, oom.at);
  facts.add("oom.cached", oom.cached, oom.at);
  facts.add("oom.unallocated", oom.unallocated, oom.at);
  facts.add("oom.private_pools", oom.private_pools, oom.at);
  facts.add("oom.allowed", oom.allowed, oom.at);
  facts.add("oom.this_process", oom.this_process, oom.at);
  for (const auto& process : oom.processes)
    facts.add("oom.process." + std::to_string(process.pid), process.bytes, oom.at);
  facts.add_number("oom.gpu", oom.gpu, oom.at);
  const model::OomArithmetic& sums = oom.arithmetic;
  facts.add("oom.computed.tensor", sums.tensor, oom.at);
  facts.add("oom.computed.live", sums.live, oom.at);
  facts.add("oom.computed.reserved", sums.reserved, oom.at);
  facts.add("oom.computed.idle", sums.idle, oom.at);
  facts.add("oom.computed.own_process", sums.own_process, oom.at);
  facts.add("oom.computed.context", sums.context, oom.at);
  facts.add("oom.computed.others", sums.others, oom.at);
  facts.add("oom.computed.outside", sums.outside, oom.at);
  facts.add("oom.computed.in_use", sums.in_use, oom.at);
}

void add_summary(FactList& facts, const model::MemorySummary& summary) {
  for (const auto& [name, statistic] : summary.statistics) {
    facts.add("summary." + name + ".current", statistic.current, summary.at);
    facts.add("summary." + name + ".peak", statistic.peak, summary.at);
    facts.add("summary." + name + ".allocated", statistic.allocated, summary.at);
    facts.add("summary." + name + ".freed", statistic.freed, summary.at);
  }
  for (const auto& [name, count] : summary.counters) {
    facts.add_number("summary." + name, std::optional(count), summary.at);
  }
}

void add_gpu(FactList& facts, const model::GpuStatus& status) {
  for (const model::GpuCard& card : status.cards) {
    const std::string name = "gpu." + (card.index ? std::to_string(*card.index) : std::string("?")) + ".";
    facts.add(name + "total", card.total, card.at);
    facts.add(name + "used", card.used, card.at);
    facts.add(name + "free", card.free, card.at);
    facts.add(name + "reserved", card.reserved, card.at);
    facts.add_number(name + "utilization_percent", card.utilization_percent, card.at);
    facts.add_number(name + "temperature_c", card.temperature_c, card.at);
    facts.add_number(name + "power_w", card.power_w, card.at);
  }
  for (const model::GpuProcess& process : status.processes) {
    const std::string gpu = process.gpu ? std::to_string(*process.gpu) : std::string("?");
    const std::string pid = process.pid ? std::to_string(*process.pid) : std::string("?");
    facts.add("gpu." + gpu + ".process." + pid, process.memory, process.at);
  }
  for (const auto& [index, used] : status.most_used)
    facts.add("gpu." + std::to_string(index) + ".most_used", used, status.at);
}

void add_training(FactList& facts, const model::TrainingLogPoint& point) {
  facts.add_number("training.step", point.step, point.at);
  facts.add_number("training.epoch", point.epoch, point.at);
  facts.add("training.allocated", point.allocated, point.at);
  facts.add("training.max_allocated", point.max_allocated, point.at);
  facts.add("training.reserved", point.reserved, point.at);
  facts.add("training.max_reserved", point.max_reserved, point.at);
  facts.add("training.memory", point.memory, point.at);
  facts.add("training.host", point.host, point.at);
  facts.add_number("training.used_percent", point.used_percent, point.at);
  facts.add_number("training.max_used_percent", point.max_used_percent, point.at);
  facts.add_number("training.host_percent", point.host_percent, point.at);
}

void add_host(FactList& facts, const model::HostKill& kill) {
  facts.add_number("host_kill.exit_code", kill.exit_code, kill.at);
  facts.add("host_kill.total_vm", kill.total_vm, kill.at);
  facts.add("host_kill.anon_rss", kill.anon_rss, kill.at);
  facts.add("host_kill.file_rss", kill.file_rss, kill.at);
  facts.add("host_kill.shmem_rss", kill.shmem_rss, kill.at);
  facts.add("host_kill.limit", kill.limit, kill.at);
  facts.add("host_kill.usage", kill.usage, kill.at);
  for (const auto& [name, count] : kill.counters) facts.add_number("host_kill." + name, std::optional(count), kill.at);
}

}  // namespace

std::vector<Fact> collect_facts(const model::Evidence& evidence) {
  FactList facts;
  for (const auto& oom : evidence.ooms) add_oom(facts, oom);
  for (const auto& summary : evidence.summaries) add_summary(facts, summary);
  for (const auto& status : evidence.gpu_status) add_gpu(facts, status);
  for (const auto& kill : evidence.host_kills) add_host(facts, kill);
  for (const auto& error : evidence.shm_errors) facts.add("shm.asked", error.asked, error.at);
  for (const auto& dump : evidence.foreign) {
    for (const auto& size : dump.sizes) facts.add(dump.program + "." + size.name, size.bytes, dump.at);
    for (const auto& [name, number] : dump.numbers)
      facts.add_number(dump.program + "." + name, std::optional(number), dump.at);
  }
  for (const auto& info : evidence.host) {
    const std::string name =
        "host." + std::string(to_string(info.kind)) + (info.subject.empty() ? "" : "." + info.subject) + ".";
    for (const auto& size : info.sizes) facts.add(name + size.name, size.bytes, info.at);
  }
  for (const auto& point : evidence.training) add_training(facts, point);
  return facts.take();
}

}  // namespace vramfit::ingest
