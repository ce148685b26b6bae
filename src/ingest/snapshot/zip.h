// Finds a member of a zip archive (PKWARE's APPNOTE, with its zip64 extension).
#ifndef VRAMFIT_INGEST_SNAPSHOT_ZIP_H
#define VRAMFIT_INGEST_SNAPSHOT_ZIP_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "ingest/pickle/source.h"

namespace vramfit::ingest::snapshot {

struct ZipMember {
  std::string name;
  std::uint64_t header_offset = 0;
  std::uint64_t packed_size = 0;
  std::uint16_t method = 0;          // 0 stored, 8 deflated
  std::optional<std::uint32_t> crc;  // of the unpacked bytes; unknown without the archive's directory
  bool is_encrypted = false;
};

// The members by the archive's directory. Without one (the file was cut), the first member, up to the end of the file.
base::Result<std::vector<ZipMember>> list_zip(pickle::Storage& storage);

// The place where the bytes of a member begin: behind its own header.
base::Result<std::uint64_t> find_zip_data(pickle::Storage& storage, const ZipMember& member);

// The unpacked bytes of a member as they come; at their end it is an error when they don't add up to `crc`.
std::unique_ptr<pickle::Source> check_crc(std::unique_ptr<pickle::Source> unpacked, std::uint32_t crc);

}  // namespace vramfit::ingest::snapshot

#endif
