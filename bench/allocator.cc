// Events a second of the allocator's simulator on one core: a training-like program at several settings, and, when a
// snapshot is named, that recording. Time is the processor's, so that a busy machine does not count.
//
//   bench_allocator [SNAPSHOT]
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "allocator/card_device.h"
#include "allocator/replay.h"
#include "allocator/simulator.h"
#include "ingest/snapshot/reader.h"

namespace {

using namespace vramfit;
using namespace vramfit::allocator;

struct Event {
  std::uint32_t slot = 0;
  std::uint64_t bytes = 0;  // 0: free
};

// Each layer's output stays until its backward; temporaries come and go around it.
std::vector<Event> training(int steps, std::uint32_t& slots) {
  constexpr int kLayers = 400, kForward = 3, kBackward = 2;
  std::mt19937_64 random(5);
  std::vector<std::uint64_t> sizes;
  for (int i = 0; i < kLayers; ++i) {
    sizes.push_back(static_cast<std::uint64_t>(std::pow(2.0, 9 + static_cast<double>(random() % 1600) / 100)));
  }
  std::vector<Event> events;
  const auto temporary = [&](std::size_t which) {
    events.push_back({slots, sizes[which % kLayers]});
    events.push_back({slots++, 0});
  };
  for (int step = 0; step < steps; ++step) {
    std::vector<std::uint32_t> live;
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      live.push_back(slots);
      events.push_back({slots++, sizes[layer]});
      for (std::size_t i = 0; i < kForward; ++i) temporary(layer * 7 + i);
    }
    while (!live.empty()) {
      for (std::size_t i = 0; i < kBackward; ++i) temporary(live.size() * 3 + i);
      events.push_back({live.back(), 0});
      live.pop_back();
    }
  }
  return events;
}

double seconds_of(const std::vector<Event>& events, std::uint32_t slots, const Settings& settings) {
  std::vector<BlockId> block_of(slots);
  CardDevice device(std::uint64_t{80} << 30);
  Simulator simulator(device, rules_of({2, 12}), settings);
  const std::clock_t begin = std::clock();
  for (const Event& event : events) {
    if (event.bytes != 0) {
      block_of[event.slot] = simulator.malloc(event.bytes, 0, event.slot);
    } else {
      simulator.free(block_of[event.slot]);
    }
  }
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

void print_rate(const std::string& what, std::size_t events, double seconds) {
  fmt::print("{:<44} {:>9} events {:>8.1f} million a second\n", what, events,
             static_cast<double>(events) / seconds / 1e6);
}

int replay_snapshot(const char* path) {
  const auto snapshot = ingest::read_snapshot(path);
  if (!snapshot) {
    fmt::print(stderr, "{}\n", base::to_string(snapshot.error()));
    return 2;
  }
  int device = 0;
  while (device + 1 < static_cast<int>(snapshot->traces.size()) &&
         snapshot->traces[static_cast<std::size_t>(device)].empty()) {
    ++device;
  }
  const auto own = find_own_rules(*snapshot, device, std::nullopt);
  if (!own) {
    fmt::print(stderr, "{}\n", base::to_string(own.error()));
    return 2;
  }
  const ReplayOptions options{.rules = own->rules, .settings = own->settings, .capacity = std::nullopt};
  const int repeats = static_cast<int>(20'000'000 / (own->program.calls.size() + 1)) + 1;
  const std::clock_t begin = std::clock();
  for (int i = 0; i < repeats; ++i) replay(own->program, options);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  print_rate("recorded: " + std::string(path), own->program.calls.size() * static_cast<std::size_t>(repeats), seconds);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint32_t slots = 0;
  const std::vector<Event> events = training(1000, slots);
  for (const char* conf : {"", "expandable_segments:True", "max_split_size_mb:128", "roundup_power2_divisions:8"}) {
    const Settings settings = parse_settings(conf, rules_of({2, 12})).value();
    print_rate(*conf == 0 ? "training-like, default settings" : std::string("training-like, ") + conf, events.size(),
               seconds_of(events, slots, settings));
  }
  return argc > 1 ? replay_snapshot(argv[1]) : 0;
}
