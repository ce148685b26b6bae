// Any bytes are read or refused, with the place; what was read can be walked and shown, and memory stays below the
// limit.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "ingest/pickle/json.h"
#include "ingest/pickle/machine.h"

namespace pickle = vramfit::ingest::pickle;

namespace {

// Takes dicts, pairs and lists as a snapshot's builder does, and forgets them.
class Forgetful final : public pickle::Folder {
 public:
  std::optional<pickle::Value> fold_dict(std::span<const pickle::Value> items, bool) override {
    return items.size() > 2 ? std::optional(pickle::make_folded(1, ++count_)) : std::nullopt;
  }
  std::optional<pickle::Value> fold_tuple(std::span<const pickle::Value> items) override {
    return items.size() == 2 ? std::optional(pickle::make_folded(2, ++count_)) : std::nullopt;
  }
  std::optional<pickle::Value> begin_list(const pickle::Value& first) override {
    return first.tag == 1 ? std::optional(pickle::make_folded(3, ++count_)) : std::nullopt;
  }

 private:
  std::uint64_t count_ = 0;
};

void read(std::span<const std::byte> bytes, pickle::Folder& folder) {
  constexpr std::uint64_t kMemory = 64 << 20;
  pickle::MemoryStorage storage(bytes);
  pickle::RangeSource source(storage);
  pickle::Input input(source);
  pickle::Machine machine(input, folder, {.memory_bytes = kMemory});
  const auto result = machine.run();
  if (!result && (result.error().what.empty() || result.error().where.empty())) std::abort();
  const pickle::Value value = result ? *result : machine.salvage();
  if (pickle::to_json(value, machine.strings(), machine.heap()).size() > 100'000) std::abort();
  if (machine.memory_bytes() > 2 * kMemory) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  pickle::Folder keeps;
  read(bytes, keeps);
  Forgetful forgets;
  read(bytes, forgets);
  return 0;
}
