// Numbers inside a page: little-endian arrays in base64 (RFC 4648), which a script turns into typed arrays at once.
#ifndef VRAMFIT_REPORT_PAGE_PACKED_H
#define VRAMFIT_REPORT_PAGE_PACKED_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit::report::page {

std::string base64(std::span<const std::byte> bytes);

// <i data-array="name" data-type="u32">...</i>, for a <template>.
std::string packed(std::string_view name, const std::vector<std::uint16_t>& values);
std::string packed(std::string_view name, const std::vector<std::uint32_t>& values);
std::string packed(std::string_view name, const std::vector<double>& values);

// <i data-texts="name">: one a line; what would end a line is a space.
std::string packed(std::string_view name, const std::vector<std::string>& texts);

}  // namespace vramfit::report::page

#endif
