// Cards and who uses them, from NVML. Opened and initialised once, no CUDA context. Whatever breaks is said in the
// sample and tried again: a card that fell off the bus, a driver that is unloaded, updated or back.
#ifndef VRAMFIT_PROBE_NVML_SOURCE_H
#define VRAMFIT_PROBE_NVML_SOURCE_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/machine.h"
#include "probe/nvml_calls.h"

namespace vramfit::probe {

// One line of a card's process list.
struct ListedUse {
  std::int64_t pid = 0;
  model::CardUse use;
};

struct NvmlPace {
  std::int64_t readings_ns = 100'000'000;      // utilisation, power, clocks; memory and processes are read every time
  std::int64_t slow_ns = 5'000'000'000;        // links, ECC, limits
  std::int64_t retry_ns = 1'000'000'000;       // a driver that does not answer
  std::int64_t reopen_ns = 10'000'000'000;     // NVML is started anew while a card is lost: a reset card needs that
  std::int64_t throughput_ns = 1'000'000'000;  // PCIe traffic takes NVML 20 ms a reading: one card at a time
  bool throughput = true;
};

class NvmlSource {
 public:
  using Opener = std::function<base::Result<nvml::Library>()>;
  explicit NvmlSource(Opener open, NvmlPace pace = {});
  NvmlSource(const NvmlSource&) = delete;
  NvmlSource& operator=(const NvmlSource&) = delete;
  ~NvmlSource();

  // Sets the driver, appends the cards and what processes hold of them. `now_ns` is monotonic.
  void read(std::int64_t now_ns, model::MachineSample& sample, std::vector<ListedUse>& uses);

 private:
  struct WatchedCard {
    nvml::Device handle = nullptr;
    model::CardReading reading;
    bool memory_v2_refused = false;
    std::uint64_t utilization_seen_us = 0;
    model::Reading processes;  // how many the driver shows, or why it shows none
    std::vector<WatchedCard> slices;
  };
  struct Turn;  // what is due in this call

  bool start(std::int64_t now_ns);
  void stop(int answer, std::int64_t now_ns);
  void enumerate();
  void enumerate_slices(WatchedCard& card);
  WatchedCard identify(nvml::Device handle) const;
  void read_card(WatchedCard& card, const Turn& turn, std::vector<ListedUse>& uses);
  void read_links(WatchedCard& card);
  int read_memory(WatchedCard& card);
  void read_processes(WatchedCard& card, std::vector<ListedUse>& uses);
  void append_list(const nvml::Calls::ProcessCalls& calls, WatchedCard& card, std::vector<ListedUse>& listed) const;
  void add_utilization(WatchedCard& card, std::vector<ListedUse>& listed) const;
  void lose(WatchedCard& card, const std::string& problem);

  Opener open_;
  NvmlPace pace_;
  std::optional<nvml::Library> library_;  // set while NVML is initialised
  model::DriverReading driver_;
  std::vector<WatchedCard> cards_;  // known ones, lost ones included
  std::int64_t next_start_ns_ = 0, started_ns_ = 0, next_readings_ns_ = 0, next_slow_ns_ = 0;
  std::int64_t next_throughput_ns_ = 0;
  std::size_t throughput_turn_ = 0;
};

}  // namespace vramfit::probe

#endif
