#include "probe/nvml_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "probe/nvml_answers.h"

namespace vramfit::probe {

using model::Absence;
using model::Reading;
using nvml::absence_of;
using nvml::bytes_of;

namespace {

// Answers that mean "no card can be asked any more" rather than "not this card".
bool means_driver_is_gone(int answer) {
  return answer == nvml::kUninitialized || answer == nvml::kDriverNotLoaded || answer == nvml::kVersionMismatch;
}

bool is_worth_asking(const Reading& reading, bool exists) {
  return exists && (reading || reading.why() != Absence::kNotSupported);
}

// Asks unless the answer was "not supported" before: a card does not learn it while it is listed.
template <class Number, class Call, class... Middle>
void ask(Reading& reading, Call call, nvml::Device device, Number, Middle... middle) {
  if (!is_worth_asking(reading, call != nullptr)) {
    if (call == nullptr) reading = Absence::kNotSupported;
    return;
  }
  Number value{};
  const int answer = call(device, middle..., &value);
  reading = answer == nvml::kSuccess ? Reading(static_cast<std::int64_t>(value)) : Reading(absence_of(answer));
}

template <class Call>
std::string text_of(Call call, nvml::Device device) {
  std::array<char, 128> text{};
  if (call == nullptr || call(device, text.data(), text.size()) != nvml::kSuccess) return {};
  text.back() = '\0';
  return text.data();
}

// All numbers but the card's place in the list.
void forget_readings(model::CardReading& card, Absence why) {
  const Reading index = card.index;
  for (const auto& field : model::card_fields()) card.*field.member = why;
  card.index = index;
}

}  // namespace

struct NvmlSource::Turn {
  bool readings = false, slow = false, throughput = false;
};

NvmlSource::NvmlSource(Opener open, NvmlPace pace) : open_(std::move(open)), pace_(pace) {}

NvmlSource::~NvmlSource() {
  if (library_) library_->calls.shutdown();
}

bool NvmlSource::start(std::int64_t now_ns) {
  if (now_ns < next_start_ns_) return false;
  next_start_ns_ = now_ns + pace_.retry_ns;
  auto library = open_();
  if (!library) {
    driver_ = {.problem = library.error().what};
    if (!library.error().remedy.empty()) driver_.problem += " (" + library.error().remedy + ")";
    return false;
  }
  if (const int answer = library->calls.init(); answer != nvml::kSuccess) {
    driver_ = {.problem = nvml::describe(library->calls, answer)};
    return false;
  }
  library_ = std::move(*library);
  driver_ = {.answers = true};
  std::array<char, 96> version{};
  if (library_->calls.driver_version != nullptr) library_->calls.driver_version(version.data(), version.size());
  driver_.version = version.data();
  int cuda = 0;
  if (library_->calls.cuda_version != nullptr && library_->calls.cuda_version(&cuda) == nvml::kSuccess) {
    driver_.cuda = fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10);
  }
  started_ns_ = now_ns;
  enumerate();
  return library_.has_value();
}

void NvmlSource::stop(int answer, std::int64_t now_ns) {
  driver_.answers = false;
  driver_.problem = nvml::describe(library_->calls, answer);
  library_->calls.shutdown();
  library_.reset();
  next_start_ns_ = now_ns + pace_.retry_ns;
}

NvmlSource::WatchedCard NvmlSource::identify(nvml::Device handle) const {
  WatchedCard card{.handle = handle};
  card.reading.uuid = text_of(library_->calls.uuid, handle);
  card.reading.name = text_of(library_->calls.name, handle);
  nvml::PciInfo pci{};
  if (library_->calls.pci != nullptr && library_->calls.pci(handle, &pci) == nvml::kSuccess) {
    pci.bus_id[sizeof pci.bus_id - 1] = '\0';
    card.reading.bus_id = pci.bus_id;
  }
  return card;
}

// Cards keep their place by UUID. One that cannot be asked for its UUID any more is the one that had its number.
void NvmlSource::enumerate() {
  std::vector<WatchedCard> before = std::exchange(cards_, {});
  unsigned count = 0;
  if (const int answer = library_->calls.count(&count); answer != nvml::kSuccess) {
    cards_ = std::move(before);
    stop(answer, started_ns_);
    return;
  }
  const auto take = [&](const auto& matches) {
    const auto found = std::ranges::find_if(before, matches);
    if (found == before.end()) return WatchedCard{};
    WatchedCard card = std::move(*found);
    before.erase(found);
    return card;
  };
  for (unsigned i = 0; i < count; ++i) {
    nvml::Device handle = nullptr;
    const int answer = library_->calls.by_index(i, &handle);
    if (answer == nvml::kSuccess) {
      WatchedCard card = identify(handle);
      take([&](const WatchedCard& known) { return known.reading.uuid == card.reading.uuid; });
      card.reading.index = i;
      cards_.push_back(std::move(card));
    } else {
      WatchedCard card = take([&](const WatchedCard& known) { return known.reading.index == Reading(i); });
      card.handle = nullptr;
      card.reading.index = i;
      lose(card, nvml::describe(library_->calls, answer));
      cards_.push_back(std::move(card));
    }
  }
  for (WatchedCard& card : before) {
    lose(card, "no longer listed by the driver");
    cards_.push_back(std::move(card));
  }
  next_readings_ns_ = next_slow_ns_ = 0;
}

void NvmlSource::lose(WatchedCard& card, const std::string& problem) {
  card.reading.problem = problem;
  card.slices.clear();
  card.processes = Absence::kLost;
  forget_readings(card.reading, Absence::kLost);
}

void NvmlSource::enumerate_slices(WatchedCard& card) {
  const nvml::Calls& calls = library_->calls;
  const Reading before = card.reading.mig_mode;
  unsigned mode = 0, pending = 0;
  const int answer =
      calls.mig_mode == nullptr ? int{nvml::kNotSupported} : calls.mig_mode(card.handle, &mode, &pending);
  card.reading.mig_mode = answer == nvml::kSuccess ? Reading(mode) : Reading(absence_of(answer));
  const bool was_read = before || before.why() != Absence::kNotRead;
  if (was_read && card.reading.mig_mode != before) {  // a divided card answers other questions than a whole one
    for (const auto& field : model::card_fields()) {
      Reading& reading = card.reading.*field.member;
      if (!reading && reading.why() == Absence::kNotSupported && field.member != &model::CardReading::mig_mode) {
        reading = Reading();
      }
    }
  }
  card.slices.clear();
  unsigned most = 0;
  if (mode == 0 || answer != nvml::kSuccess || calls.most_mig_devices == nullptr || calls.mig_device == nullptr) return;
  if (calls.most_mig_devices(card.handle, &most) != nvml::kSuccess) return;
  for (unsigned i = 0; i < most; ++i) {
    nvml::Device handle = nullptr;
    if (calls.mig_device(card.handle, i, &handle) != nvml::kSuccess) continue;
    WatchedCard slice = identify(handle);
    slice.reading.parent = card.reading.uuid;
    slice.reading.index = i;
    ask(slice.reading.gpu_instance, calls.gpu_instance, handle, 0u);
    ask(slice.reading.compute_instance, calls.compute_instance, handle, 0u);
    card.slices.push_back(std::move(slice));
  }
}

// The newest call tells the driver's own share apart; the oldest counts it as used.
int NvmlSource::read_memory(WatchedCard& card) {
  const nvml::Calls& calls = library_->calls;
  model::CardReading& out = card.reading;
  if (calls.memory_v2 != nullptr && !card.memory_v2_refused) {
    nvml::MemoryV2 memory{.version = nvml::kMemoryV2Version};
    const int answer = calls.memory_v2(card.handle, &memory);
    if (answer == nvml::kSuccess) {
      out.total_bytes = bytes_of(memory.total);
      out.used_bytes = bytes_of(memory.used);
      out.free_bytes = bytes_of(memory.free);
      out.reserved_bytes = bytes_of(memory.reserved);
      return answer;
    }
    if (absence_of(answer) != Absence::kNotSupported || calls.memory == nullptr) return answer;
    card.memory_v2_refused = true;
  }
  nvml::Memory memory{};
  const int answer = calls.memory(card.handle, &memory);
  if (answer != nvml::kSuccess) return answer;
  out.total_bytes = bytes_of(memory.total);
  out.used_bytes = bytes_of(memory.used);
  out.free_bytes = bytes_of(memory.free);
  out.reserved_bytes = Absence::kNotSupported;
  return answer;
}

void NvmlSource::read_links(WatchedCard& card) {
  const nvml::Calls& calls = library_->calls;
  model::CardReading& out = card.reading;
  ask(out.power_limit_milliwatts, calls.power_limit, card.handle, 0u);
  ask(out.max_sm_clock_mhz, calls.max_clock, card.handle, 0u, nvml::kClockSm);
  ask(out.ecc_corrected, calls.ecc_total, card.handle, 0ull, nvml::kCorrected, nvml::kVolatile);
  ask(out.ecc_uncorrected, calls.ecc_total, card.handle, 0ull, nvml::kUncorrected, nvml::kVolatile);
  ask(out.pcie_generation, calls.pcie_generation, card.handle, 0u);
  ask(out.pcie_width, calls.pcie_width, card.handle, 0u);
  ask(out.persistence_mode, calls.persistence, card.handle, 0);
  ask(out.performance_state, calls.performance_state, card.handle, 0);
  ask(out.fan_percent, calls.fan, card.handle, 0u);
  nvml::Memory bar1{};
  const bool has_bar1 = calls.bar1 != nullptr && calls.bar1(card.handle, &bar1) == nvml::kSuccess;
  out.bar1_total_bytes = has_bar1 ? bytes_of(bar1.total) : Reading(Absence::kNotSupported);
  out.bar1_used_bytes = has_bar1 ? bytes_of(bar1.used) : Reading(Absence::kNotSupported);
  if (!is_worth_asking(out.nvlinks, calls.nvlink_state != nullptr)) return;
  std::int64_t links = 0, up = 0;
  for (unsigned link = 0; link < nvml::kMostNvlinks; ++link) {
    int state = 0;
    if (calls.nvlink_state(card.handle, link, &state) != nvml::kSuccess) break;
    ++links;
    up += state != 0 ? 1 : 0;
  }
  out.nvlinks = links > 0 ? Reading(links) : Reading(Absence::kNotSupported);
  out.nvlinks_up = links > 0 ? Reading(up) : Reading(Absence::kNotSupported);
}

void NvmlSource::read_card(WatchedCard& card, const Turn& turn, std::vector<ListedUse>& uses) {
  const nvml::Calls& calls = library_->calls;
  model::CardReading& out = card.reading;
  if (turn.slow) {
    enumerate_slices(card);
    read_links(card);
  }
  if (turn.readings) {
    if (is_worth_asking(out.gpu_percent, calls.utilization != nullptr)) {
      nvml::Utilization rates{};
      const int answer = calls.utilization(card.handle, &rates);
      out.gpu_percent = answer == nvml::kSuccess ? Reading(rates.gpu) : Reading(absence_of(answer));
      out.memory_percent = answer == nvml::kSuccess ? Reading(rates.memory) : Reading(absence_of(answer));
    }
    ask(out.temperature_celsius, calls.temperature, card.handle, 0u, nvml::kTemperatureGpu);
    ask(out.power_milliwatts, calls.power, card.handle, 0u);
    ask(out.sm_clock_mhz, calls.clock, card.handle, 0u, nvml::kClockSm);
    ask(out.memory_clock_mhz, calls.clock, card.handle, 0u, nvml::kClockMemory);
    ask(out.throttle_reasons, calls.throttle, card.handle, 0ull);
  }
  if (turn.throughput) {
    constexpr std::int64_t kKib = 1024;
    ask(out.pcie_received_bytes_per_second, calls.pcie_throughput, card.handle, 0u, nvml::kPcieReceived);
    ask(out.pcie_sent_bytes_per_second, calls.pcie_throughput, card.handle, 0u, nvml::kPcieSent);
    for (Reading* rate : {&out.pcie_received_bytes_per_second, &out.pcie_sent_bytes_per_second}) {
      if (*rate) *rate = **rate * kKib;
    }
  }
  for (WatchedCard& slice : card.slices) {
    if (const int answer = read_memory(slice); answer != nvml::kSuccess) {
      slice.reading.used_bytes = slice.reading.total_bytes = slice.reading.free_bytes = absence_of(answer);
    }
  }
  read_processes(card, uses);
}

void NvmlSource::read(std::int64_t now_ns, model::MachineSample& sample, std::vector<ListedUse>& uses) {
  const bool any_lost =
      std::ranges::any_of(cards_, [](const WatchedCard& card) { return !card.reading.problem.empty(); });
  if (library_ && any_lost && now_ns - started_ns_ > pace_.reopen_ns) {
    library_->calls.shutdown();
    library_.reset();
    next_start_ns_ = now_ns;
  }
  if (!library_) start(now_ns);
  Turn turn{.readings = now_ns >= next_readings_ns_, .slow = now_ns >= next_slow_ns_};
  if (turn.readings) next_readings_ns_ = now_ns + pace_.readings_ns;
  if (turn.slow) next_slow_ns_ = now_ns + pace_.slow_ns;
  const bool throughput = pace_.throughput && now_ns >= next_throughput_ns_;
  if (throughput) {
    next_throughput_ns_ = now_ns + pace_.throughput_ns;
    ++throughput_turn_;
  }
  for (std::size_t i = 0; library_ && i < cards_.size(); ++i) {
    WatchedCard& card = cards_[i];
    if (card.handle == nullptr) continue;
    const int answer = read_memory(card);
    if (means_driver_is_gone(answer)) {
      stop(answer, now_ns);
    } else if (answer != nvml::kSuccess) {
      lose(card, nvml::describe(library_->calls, answer));
    } else {
      turn.throughput = throughput && i == throughput_turn_ % cards_.size();
      Turn own = turn;
      if (!card.reading.problem.empty()) own.readings = own.slow = true;
      card.reading.problem.clear();
      read_card(card, own, uses);
    }
  }
  if (!library_) {
    for (WatchedCard& card : cards_) lose(card, "the driver does not answer");
    uses.clear();
  }
  sample.driver = driver_;
  for (const WatchedCard& card : cards_) {
    sample.cards.push_back(card.reading);
    for (const WatchedCard& slice : card.slices) sample.cards.push_back(slice.reading);
  }
}

}  // namespace vramfit::probe
