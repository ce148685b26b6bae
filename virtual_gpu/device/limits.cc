#include "virtual_gpu/device/limits.h"

#include <algorithm>

namespace vramfit::device {
namespace {

constexpr int kKi = 1024;

struct ByCapability {
  int capability;  // 10 * major + minor; holds up to the next row
  Limits limits;
};

// CUDA C++ programming guide, "Technical Specifications per Compute Capability".
constexpr ByCapability kLimits[] = {
    {50, {2048, 32, 65536, 64 * kKi, 48 * kKi}},   {52, {2048, 32, 65536, 96 * kKi, 48 * kKi}},
    {60, {2048, 32, 65536, 64 * kKi, 48 * kKi}},   {61, {2048, 32, 65536, 96 * kKi, 48 * kKi}},
    {70, {2048, 32, 65536, 96 * kKi, 96 * kKi}},   {75, {1024, 16, 65536, 64 * kKi, 64 * kKi}},
    {80, {2048, 32, 65536, 164 * kKi, 163 * kKi}}, {86, {1536, 16, 65536, 100 * kKi, 99 * kKi}},
    {87, {1536, 16, 65536, 164 * kKi, 163 * kKi}}, {89, {1536, 24, 65536, 100 * kKi, 99 * kKi}},
    {90, {2048, 32, 65536, 228 * kKi, 227 * kKi}}, {120, {1536, 24, 65536, 100 * kKi, 99 * kKi}},
};

void replace_if_known(int& limit, int32_t known) {
  if (known > 0) limit = known;
}

}  // namespace

Limits limits_of(const vf_card& card) {
  Limits limits;
  for (const ByCapability& row : kLimits) {
    if (row.capability <= 10 * card.compute_major + card.compute_minor) limits = row.limits;
  }
  replace_if_known(limits.threads_per_sm, card.max_threads_per_sm);
  replace_if_known(limits.blocks_per_sm, card.max_blocks_per_sm);
  replace_if_known(limits.registers_per_sm, card.registers_per_sm);
  replace_if_known(limits.shared_bytes_per_sm, card.shared_bytes_per_sm);
  replace_if_known(limits.shared_bytes_per_block_optin, card.shared_bytes_per_block_optin);
  return limits;
}

int blocks_at_once(const vf_card& card, int block_threads, size_t shared_bytes) {
  if (block_threads <= 0 || block_threads > 1024) return 0;
  const Limits limits = limits_of(card);
  constexpr int kRegisters = 32;
  int blocks = std::min(limits.blocks_per_sm, limits.threads_per_sm / block_threads);
  blocks = std::min(blocks, limits.registers_per_sm / (kRegisters * block_threads));
  if (shared_bytes == 0) return blocks;
  const size_t per_block = shared_bytes + kReservedSharedBytes;
  return std::min(blocks, static_cast<int>(static_cast<size_t>(limits.shared_bytes_per_sm) / per_block));
}

}  // namespace vramfit::device
