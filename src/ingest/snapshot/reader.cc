#include "ingest/snapshot/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/shell_word.h"
#include "ingest/pickle/json.h"
#include "ingest/pickle/machine.h"
#include "ingest/snapshot/builder.h"
#include "ingest/snapshot/container.h"

namespace vramfit::ingest {
namespace {

using base::ErrorCode;
using pickle::Kind;

constexpr std::uint64_t kLeastMemory = std::uint64_t{256} << 20;
constexpr std::uint64_t kMostMemory = std::uint64_t{8} << 30;
// Memory for each byte of a file. A snapshot takes about half of its size, and gets 20 to 40 times smaller when it is
// packed; what gets a thousand times smaller is made to fill a reader's memory.
constexpr std::uint64_t kPlainMemory = 2, kPackedMemory = 24;
// torch.save's format before 1.6 begins with this number as a pickle of its own; the object is the fourth pickle
// (torch/serialization.py, MAGIC_NUMBER and _legacy_save).
constexpr std::string_view kLegacyMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
constexpr int kPicklesBeforeLegacyObject = 3;

std::uint64_t memory_limit(const pickle::Storage& storage, snapshot::Packing packing) {
  if (packing == snapshot::Packing::kNone) return kLeastMemory + kPlainMemory * storage.size();
  return std::min(kMostMemory, kLeastMemory + kPackedMemory * std::min(storage.size(), kMostMemory));
}

// What was read up to a limit would be taken for the whole: the recording of a bomb, or of half a job.
base::Error too_large(base::Error error, snapshot::Packing packing) {
  if (packing != snapshot::Packing::kNone) {
    error.remedy = "if it is a snapshot indeed, unpack it first (gunzip, unzip): what lies unpacked may take more";
  }
  return error;
}

base::Result<pickle::Value> run(pickle::Machine& machine) {
  auto result = machine.run();
  for (int i = 0; i < kPicklesBeforeLegacyObject && result; ++i) {
    if (i == 0 && (result->kind != Kind::kBigInt || machine.strings().text(result->text()) != kLegacyMagic)) break;
    result = machine.run();
  }
  return result;
}

// Packed bytes carry a checksum behind them, which a reader that stops at the pickle's end would not see. Not much can
// follow a snapshot; whatever is longer is left alone.
std::optional<base::Error> find_damage_behind(pickle::Source& source) {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  std::vector<char> room(std::size_t{1} << 16);
  for (std::size_t have = 0; have < kMost;) {
    const auto got = source.read(room);
    if (!got) return got.error();
    if (*got == 0) break;
    have += *got;
  }
  return std::nullopt;
}

std::string describe(const pickle::Value& value, const pickle::Machine& machine) {
  switch (value.kind) {
    case Kind::kObject:
    case Kind::kFolded:
      return pickle::to_json(value, machine.strings(), machine.heap(), 60);
    default:
      return "a single value";
  }
}

// Somebody's log, notes or source: what a pickle's operations would say of it ("a text of 1701011826 bytes") helps no
// one. Pickles of protocol 0 are letters too, and begin as no sentence does.
bool begins_as_text(const std::filesystem::path& path) {
  std::string head(4096, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  if (head.empty() || head.starts_with('\x80') || head.starts_with("(d") || head.starts_with("(l")) return false;
  return std::ranges::all_of(head, [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return byte >= ' ' || byte == '\n' || byte == '\r' || byte == '\t' || byte == '\033' || byte == '\b';
  });
}

base::Result<model::Snapshot> read(pickle::Storage& storage, std::string_view name, SnapshotLimits limits) {
  const auto place = [&](base::Error error) {
    error.where = error.where.empty() ? std::string(name) : fmt::format("{}: {}", name, error.where);
    return std::unexpected(std::move(error));
  };
  if (storage.size() == 0) {
    return base::fail(ErrorCode::kCorrupt, "the file is empty", std::string(name),
                      "the job may have been killed while it wrote the snapshot; dump it again");
  }
  auto opened = snapshot::open_container(storage);
  if (!opened) return place(opened.error());
  pickle::Input input(*opened->source);
  snapshot::Builder builder;
  pickle::Machine machine(
      input, builder,
      {.memory_bytes = limits.memory_bytes != 0 ? limits.memory_bytes : memory_limit(storage, opened->packing)});
  const auto result = run(machine);
  if (!result && result.error().code == ErrorCode::kUnsupported)
    return place(too_large(result.error(), opened->packing));
  const pickle::Value outermost = result ? *result : machine.salvage();
  if (builder.finish(outermost, !result)) {
    model::Snapshot& found = builder.snapshot();
    if (!result) {
      found.truncated_at = input.offset();
      found.damage = result.error().what;
    } else if (opened->packing != snapshot::Packing::kNone) {
      if (const auto damage = find_damage_behind(*opened->source)) {
        found.truncated_at = input.offset();
        found.damage = damage->what;
      }
    }
    return std::move(found);
  }
  if (!result) return place(result.error());
  return base::fail(ErrorCode::kUsage, "this pickle is no memory snapshot", std::string(name),
                    fmt::format("it holds {}; torch.cuda.memory._dump_snapshot(\"snapshot.pickle\") writes a snapshot",
                                describe(outermost, machine)));
}

}  // namespace

bool sniff_snapshot(std::span<const std::byte> head) {
  const std::string_view start(reinterpret_cast<const char*>(head.data()), head.size());
  if (start.starts_with("\x1f\x8b") || start.starts_with("PK\x03\x04")) return true;
  const bool is_pickle = start.starts_with('\x80') || start.starts_with("(d") || start.starts_with('}') ||
                         start.starts_with("(l") || start.starts_with(']');
  constexpr std::string_view kFirstTexts[] = {"segments", "device_traces", "device", "address", "action"};
  return is_pickle && std::ranges::any_of(kFirstTexts, [&](auto text) { return start.contains(text); });
}

base::Result<model::Snapshot> read_snapshot(const std::filesystem::path& path, SnapshotLimits limits) {
  auto storage = pickle::FileStorage::open(path);
  if (!storage) return std::unexpected(storage.error());
  auto snapshot = read(*storage, path.string(), limits);
  if (!snapshot && begins_as_text(path)) {
    return base::fail(ErrorCode::kUsage, "this is no memory snapshot: it is a text", path.string(),
                      fmt::format("`vramfit doctor {}` reads logs and messages; a snapshot is what "
                                  "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\") writes",
                                  base::quote_for_shell(path.string())));
  }
  return snapshot;
}

base::Result<model::Snapshot> parse_snapshot(std::span<const std::byte> bytes, std::string_view name,
                                             SnapshotLimits limits) {
  pickle::MemoryStorage storage(bytes);
  return read(storage, name, limits);
}

}  // namespace vramfit::ingest
