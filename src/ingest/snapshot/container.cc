#include "ingest/snapshot/container.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "ingest/snapshot/inflate.h"
#include "ingest/snapshot/zip.h"

namespace vramfit::ingest::snapshot {
namespace {

// The pickle of torch.save, or a file that is named as a pickle, or the only one there is.
const ZipMember* find_pickle(const std::vector<ZipMember>& members) {
  const auto find = [&](auto&& is_it) -> const ZipMember* {
    for (const ZipMember& member : members) {
      if (is_it(std::string_view(member.name))) return &member;
    }
    return nullptr;
  };
  if (const auto* found = find([](auto name) { return name == "data.pkl" || name.ends_with("/data.pkl"); }))
    return found;
  if (const auto* found = find([](auto name) { return name.ends_with(".pickle") || name.ends_with(".pkl"); }))
    return found;
  return members.size() == 1 ? &members.front() : nullptr;
}

bool is_named_pickle(const ZipMember& member) {
  return member.name == "data.pkl" || member.name.ends_with(".pickle") || member.name.ends_with(".pkl");
}

std::unique_ptr<pickle::Source> open_member(pickle::Storage& storage, const ZipMember& member, std::uint64_t data) {
  std::unique_ptr<pickle::Source> source = std::make_unique<pickle::RangeSource>(storage, data, member.packed_size);
  return member.method == 8 ? inflate(std::move(source), DeflateForm::kRaw) : std::move(source);
}

base::Result<Opened> open_zip(pickle::Storage& storage) {
  const auto members = list_zip(storage);
  if (!members) return std::unexpected(members.error());
  const ZipMember* member = find_pickle(*members);
  if (member == nullptr) {
    return base::fail(base::ErrorCode::kNotFound,
                      fmt::format("none of the {} files in the zip archive is a pickle", members->size()), {},
                      "unpack the archive and name the snapshot itself");
  }
  if (member->is_encrypted || (member->method != 0 && member->method != 8)) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("{} in the zip archive is {}", member->name,
                                  member->is_encrypted ? "encrypted" : "packed in a way that is not known here"),
                      {}, "unpack the archive first");
  }
  const auto data = find_zip_data(storage, *member);
  if (!data) return std::unexpected(data.error());
  std::unique_ptr<pickle::Source> source = open_member(storage, *member, *data);
  if (!is_named_pickle(*member)) {  // the only file of the archive: a log, as likely as not
    std::array<char, 1> first{};
    auto beginning = open_member(storage, *member, *data);
    const auto got = beginning->read(first);
    if (!got || *got == 0 || first[0] != '\x80') {
      return base::fail(base::ErrorCode::kUnsupported,
                        fmt::format("this is a zip archive, and {} in it is no pickle", member->name), {},
                        "unpack the archive and give what is in it");
    }
  }
  if (member->crc) source = check_crc(std::move(source), *member->crc);
  return Opened{std::move(source), Packing::kZip, member->name};
}

}  // namespace

base::Result<Opened> open_container(pickle::Storage& storage) {
  std::array<char, 4> head{};
  const auto got = storage.read_at(0, head);
  if (!got) return std::unexpected(got.error());
  const std::string_view start(head.data(), *got);
  if (start.starts_with("PK\x03\x04") || start.starts_with("PK\x05\x06")) return open_zip(storage);
  auto source = std::make_unique<pickle::RangeSource>(storage);
  if (start.starts_with("\x1f\x8b")) return Opened{inflate(std::move(source), DeflateForm::kGzip), Packing::kGzip, {}};
  return Opened{std::move(source), Packing::kNone, {}};
}

}  // namespace vramfit::ingest::snapshot
