// Plays a program of allocator calls through the simulator and prints what it did, line by line. tests/allocator runs
// the same programs through PyTorch's own allocator on the virtual GPU and compares the lines.
//
//   torch 2.12                     rules of this release
//   card TOTAL FREE                bytes, when the program began
//   conf TEXT                      allocator settings; again later: set at run time
//   fraction X                     set_per_process_memory_fraction
//   malloc_at ADDRESS              what cudaMalloc will answer, in order
//   reserve_at ADDRESS             what cuMemAddressReserve will answer, in order
//   a SLOT BYTES STREAM            allocate          f SLOT    free
//   r SLOT STREAM                  record_stream     c SLOT    its events have passed
//   order SLOT...                  in which the next synchronization frees
//   e [A B]                        empty_cache
//   pool A B OPTIONS...            create a pool: use_on_oom, no_split
//   begin A B STREAM|*             end A B           release A B
//   pin SLOT BYTES / unpin SLOT / emptypins / pinstats   the pinned host allocator
//   stats                          print the statistics
//   peaks / sums                   reset peak, accumulated statistics
//   state                          print segments and blocks
// Each call but e prints what it traced, then "#".
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "allocator/pinned.h"
#include "allocator/recorded_device.h"
#include "allocator/simulator.h"

namespace {

using namespace vramfit::allocator;

class Printer : public TraceSink {
 public:
  void on_event(const TraceEvent& event) override {
    fmt::print("{} {} {} {} {} {}\n", to_string(event.action), event.address, event.size, event.stream,
               event.pool.first, event.pool.second);
  }
};

[[noreturn]] void refuse(const std::string& what) {
  fmt::print(stderr, "{}\n", what);
  std::exit(2);
}

// The order in which blocks were freed when the other allocator waited for all of them.
class OtherOrder : public EventSource {
 public:
  explicit OtherOrder(const std::vector<BlockId>& slots) : slots_(slots) {}
  bool has_passed(std::uint64_t) override { return false; }  // the program says which: c
  void order_for_synchronization(std::vector<BlockId>& blocks) override {
    std::vector<BlockId> ordered;
    for (const std::uint32_t slot : order) {
      const BlockId block = slot < slots_.size() ? slots_[slot] : kNoBlock;
      if (std::find(blocks.begin(), blocks.end(), block) != blocks.end()) ordered.push_back(block);
    }
    if (blocks.size() > 1 && ordered.size() != blocks.size()) refuse("the order is not that of the blocks waited for");
    if (ordered.size() == blocks.size()) blocks = ordered;
  }
  std::vector<std::uint32_t> order;

 private:
  const std::vector<BlockId>& slots_;
};

// Every range lies where the other driver put it, also one in which nothing was ever mapped.
class PlayedDevice : public RecordedDevice {
 public:
  using RecordedDevice::RecordedDevice;
  std::uint64_t reserve(std::uint64_t bytes, std::uint64_t page_bytes, StreamHandle stream, PoolId pool) override {
    if (reserved.empty()) return CardDevice::reserve(bytes, page_bytes, stream, pool);
    const std::uint64_t address = reserved.front();
    reserved.pop_front();
    return address;
  }
  std::deque<std::uint64_t> reserved;
};

class Player {
 public:
  void play(const std::string& line);

 private:
  void prepare(std::istringstream& words, const std::string& word);
  void call(std::istringstream& words, const std::string& word);
  void allocate(std::istringstream& words);
  bool call_pinned(std::istringstream& words, const std::string& word);
  void print_state() const;
  Simulator& simulator();

  TorchVersion version_;
  std::string conf_;
  std::optional<double> fraction_;
  std::unique_ptr<PlayedDevice> device_;
  std::unique_ptr<Simulator> simulator_;
  Printer printer_;
  std::vector<BlockId> slots_;
  PinnedSimulator pinned_;
  std::map<std::uint32_t, PinnedBlockId> pins_;
  OtherOrder order_{slots_};
};

Settings settings_of(const std::string& conf, const Rules& rules) {
  const auto settings = parse_settings(conf, rules);
  if (!settings) refuse(vramfit::base::to_string(settings.error()));
  return *settings;
}

Simulator& Player::simulator() {
  if (!simulator_) {
    const Rules rules = rules_of(version_);
    // Statistics are made before the settings are, as in a process that sets them at run time.
    simulator_ = std::make_unique<Simulator>(*device_, rules, Settings{});
    const Settings settings = settings_of(conf_, rules);
    simulator_->set_settings(settings);
    if (settings.has_memory_fraction) simulator_->set_memory_fraction(settings.memory_fraction);
    if (fraction_) simulator_->set_memory_fraction(*fraction_);
    simulator_->set_trace(&printer_);
    simulator_->set_events(&order_);
  }
  return *simulator_;
}

void Player::prepare(std::istringstream& words, const std::string& word) {
  if (word == "torch") {
    std::string text;
    words >> text;
    version_ = parse_torch_version(text).value();
  } else if (word == "card") {
    std::uint64_t total = 0, free = 0;
    words >> total >> free;
    device_ = std::make_unique<PlayedDevice>(total, total - free);
  } else if (word == "conf") {
    conf_.clear();
    words >> conf_;
    if (simulator_) simulator_->set_settings(settings_of(conf_, simulator_->rules()));
  } else if (word == "fraction") {
    double fraction = 1;
    words >> fraction;
    fraction_ = fraction;
    if (simulator_) simulator_->set_memory_fraction(fraction);
  } else if (word == "order") {
    order_.order.clear();
    for (std::uint32_t slot = 0; words >> slot;) order_.order.push_back(slot);
  } else if (word == "malloc_at") {
    words >> device_->addresses().mallocs.emplace_back();
  } else if (word == "reserve_at") {
    words >> device_->reserved.emplace_back();
  } else {
    refuse("unknown word " + word);
  }
}

void Player::allocate(std::istringstream& words) {
  std::uint32_t slot = 0;
  std::uint64_t bytes = 0, stream = 0;
  words >> slot >> bytes >> stream;
  if (slots_.size() <= slot) slots_.resize(slot + 1, kNoBlock);
  slots_[slot] = simulator().malloc(bytes, stream, slot);
  if (slots_[slot] == kNoBlock) {
    fmt::print("message {}\n", message_of(*simulator().last_oom(), 0, version_));
  }
}

void Player::print_state() const {
  for (const StateSegment& segment : simulator_->state().segments) {
    fmt::print("segment {} {} {} {} {} {} {} {} {} {}\n", segment.address, segment.total, segment.allocated,
               segment.active, segment.requested, segment.stream, segment.kind == PoolKind::kSmall ? "small" : "large",
               segment.pool.first, segment.pool.second, segment.is_expandable);
    for (const StateBlock& block : segment.blocks) {
      const char* const states[] = {"inactive", "active_pending_free", "active_allocated"};
      fmt::print("block {} {} {} {}\n", block.address, block.size, block.requested,
                 states[static_cast<std::size_t>(block.state)]);
    }
  }
}

bool Player::call_pinned(std::istringstream& words, const std::string& word) {
  std::uint32_t slot = 0;
  std::uint64_t bytes = 0;
  words >> slot >> bytes;
  if (word == "pin") {
    pins_[slot] = pinned_.malloc(bytes);
  } else if (word == "unpin") {
    pinned_.free(pins_.at(slot));
  } else if (word == "emptypins") {
    pinned_.empty_cache();
  } else if (word == "pinstats") {
    const PinnedStatistics& all = pinned_.statistics();
    const std::pair<const char*, const Stat&> named[] = {{"allocations", all.allocations},
                                                         {"allocated_bytes", all.allocated_bytes},
                                                         {"active_requests", all.active_requests},
                                                         {"active_bytes", all.active_bytes}};
    for (const auto& [name, stat] : named) {
      fmt::print("{} {} {} {} {}\n", name, stat.current, stat.peak, stat.allocated, stat.freed);
    }
    fmt::print("num_host_alloc {}\nnum_host_free {}\n#\n", all.host_allocations, all.host_frees);
  } else {
    return false;
  }
  return true;
}

void Player::call(std::istringstream& words, const std::string& word) {
  std::uint32_t slot = 0;
  std::uint64_t stream = 0;
  PoolId pool;
  std::string rest;
  if (word.starts_with("pin") || word == "unpin" || word == "emptypins") {
    call_pinned(words, word);
    return;
  }
  if (word == "a") {
    allocate(words);
  } else if (word == "f" || word == "r" || word == "c") {
    words >> slot >> stream;
    if (word == "f") simulator().free(slots_.at(slot));
    if (word == "r") simulator().record_stream(slots_.at(slot), stream);
    if (word == "c") simulator().complete(slots_.at(slot), slot);
    if (word == "c") return;  // belongs to the next call
  } else if (word == "e") {
    words >> pool.first >> pool.second;
    simulator().empty_cache(pool);
    return;  // what it traced stands with the next call
  } else if (word == "stats") {
    for (const auto& [name, value] : simulator().statistics().by_name()) {
      if (name != "num_oom_rejections" || simulator().rules().has_oom_rejection)
        fmt::print("stat {} {}\n", name, value);
    }
  } else if (word == "peaks") {
    simulator().statistics().reset_peaks();
  } else if (word == "sums") {
    simulator().statistics().reset_accumulated();
  } else if (word == "state") {
    simulator();
    print_state();
  } else if (word == "pool" || word == "begin" || word == "end" || word == "release") {
    words >> pool.first >> pool.second;
    PoolOptions options;
    std::optional<StreamHandle> only;
    while (words >> rest) {
      options.use_on_oom |= rest == "use_on_oom";
      options.no_split |= rest == "no_split";
      if (word == "begin" && rest != "*") only = std::stoull(rest);
    }
    if (word == "pool") simulator().create_pool(pool, options);
    if (word == "begin") simulator().begin_allocate_to_pool(pool, only);
    if (word == "end") simulator().end_allocate_to_pool(pool);
    if (word == "release") simulator().release_pool(pool);
  } else {
    prepare(words, word);
    return;
  }
  fmt::print("#\n");
}

void Player::play(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  if (words >> word) call(words, word);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) refuse("play PROGRAM");
  std::ifstream file(argv[1]);
  if (!file) refuse(std::string("cannot read ") + argv[1]);
  Player player;
  for (std::string line; std::getline(file, line);) player.play(line);
  return 0;
}
