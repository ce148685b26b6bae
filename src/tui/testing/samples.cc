#include "tui/testing/samples.h"

#include <fmt/format.h>

namespace vramfit::tui::testing {

using model::Absence;

namespace {

constexpr std::int64_t kGib = std::int64_t{1} << 30, kMib = std::int64_t{1} << 20;
constexpr std::int64_t kNow = 1'795'000'000;

model::CardReading card(int index, std::int64_t used) {
  model::CardReading card{.uuid = fmt::format("GPU-1d2f3a4{}-0000-4000-8000-000000000000", index),
                          .name = "NVIDIA GeForce RTX 3090"};
  card.index = index;
  card.total_bytes = 24 * kGib;
  card.used_bytes = used;
  card.free_bytes = 24 * kGib - used;
  card.unexplained_bytes = 0;
  card.gpu_percent = used > 0 ? 97 : 0;
  card.temperature_celsius = 61;
  card.power_milliwatts = 312'400;
  card.power_limit_milliwatts = 350'000;
  card.sm_clock_mhz = 1695;
  card.max_sm_clock_mhz = 2100;
  card.pcie_generation = 4;
  card.pcie_width = 16;
  card.ecc_corrected = Absence::kNotSupported;
  card.performance_state = 2;
  return card;
}

model::ProcessReading process(std::int64_t pid, std::string command, const model::CardReading& card,
                              std::int64_t used) {
  model::ProcessReading process{
      .pid = pid, .parent = 1, .name = "python", .command = std::move(command), .user = "ada"};
  process.started_unix_seconds = kNow - 7385;
  process.uses.push_back({.card = card.uuid, .used_bytes = used, .sm_percent = 88});
  return process;
}

model::HostReading host() {
  model::HostReading host{.name = "gpu-box-3"};
  host.memory_total_bytes = 64 * kGib;
  host.memory_available_bytes = 40 * kGib;
  host.page_cache_bytes = 18 * kGib;
  host.locked_bytes = 512 * kMib;
  host.shm_total_bytes = 32 * kGib;
  host.shm_used_bytes = 3 * kGib;
  host.swap_used_bytes = 0;
  return host;
}

}  // namespace

model::MachineSample busy_machine() {
  model::MachineSample sample{.at_unix_ns = kNow * 1'000'000'000};
  sample.driver = {.answers = true, .version = "580.95.05", .cuda = "13.0"};
  sample.host = host();
  sample.cards = {card(0, 23 * kGib), card(1, 0), card(2, 6 * kGib), card(3, 0)};
  sample.cards[0].throttle_reasons = 0x24;
  sample.cards[0].unexplained_bytes = 2 * kGib;
  sample.cards[2].mig_mode = 1;
  sample.cards[2].gpu_percent = Absence::kNotSupported;
  model::CardReading slice{.uuid = "MIG-1", .name = "NVIDIA A30 MIG 2g.12gb", .parent = sample.cards[2].uuid};
  slice.index = 0;
  slice.total_bytes = 12 * kGib;
  slice.used_bytes = 6 * kGib;
  for (const auto& field : model::card_fields()) {
    if (field.member != &model::CardReading::index) sample.cards[3].*field.member = Absence::kLost;
  }
  sample.cards[3].problem = "fell off the bus";
  sample.processes = {process(4001, "python train.py --batch-size 64", sample.cards[0], 10 * kGib),
                      process(4002, "python train.py --batch-size 64", sample.cards[0], 9 * kGib),
                      process(4100, "python -m vramfit_job", sample.cards[2], 6 * kGib),
                      process(5000, "", sample.cards[0], 1 * kGib), process(6000, "", sample.cards[0], 1 * kGib)};
  for (std::size_t i = 0; i < 2; ++i) {
    sample.processes[i].parent = 4000;
    sample.processes[i].parent_name = "torchrun";
    sample.processes[i].rank = std::to_string(i);
    sample.processes[i].world_size = "2";
    sample.processes[i].slurm_job = "4711";
  }
  sample.processes[2].uses[0].card = slice.uuid;
  sample.processes[2].uses[0].allocated_bytes = 3 * kGib;
  sample.processes[2].uses[0].reserved_bytes = 5 * kGib;
  sample.processes[2].uses[0].context_bytes = 512 * kMib;
  sample.processes[2].uses[0].library_bytes = 128 * kMib;
  sample.processes[3].state = model::ProcessState::kZombie;
  sample.processes[4].state = model::ProcessState::kUnseen;
  sample.processes[4].name.clear();
  sample.processes[4].user.clear();
  sample.processes[4].started_unix_seconds = Absence::kNotRead;
  sample.cards.insert(sample.cards.begin() + 3, std::move(slice));
  return sample;
}

model::MachineSample large_machine() {
  model::MachineSample sample{.at_unix_ns = kNow * 1'000'000'000};
  sample.driver = {.answers = true, .version = "580.95.05", .cuda = "13.0"};
  sample.host = host();
  for (int i = 0; i < 8; ++i) {
    sample.cards.push_back(card(i, (i + 1) * 2 * kGib));
    for (int k = 0; k < 25; ++k) {
      sample.processes.push_back(
          process(10'000 + 100 * i + k, fmt::format("worker {}.{}", i, k), sample.cards.back(), (k + 1) * kMib));
    }
  }
  return sample;
}

}  // namespace vramfit::tui::testing
