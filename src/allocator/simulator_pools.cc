// Private pools: CUDA graphs and MemPool.
#include <algorithm>

#include "allocator/simulator.h"

namespace vramfit::allocator {

PrivatePool* Simulator::find_private(PoolId pool) {
  return const_cast<PrivatePool*>(static_cast<const Simulator*>(this)->find_private(pool));
}

const PrivatePool* Simulator::find_private(PoolId pool) const {
  const auto found = std::find_if(private_pools_.begin(), private_pools_.end(),
                                  [&](const PrivatePool& one) { return !one.is_erased && one.id == pool; });
  return found == private_pools_.end() ? nullptr : &*found;
}

// create_or_incref_pool.
void Simulator::create_pool(PoolId id, const PoolOptions& options) {
  if (PrivatePool* known = find_private(id)) {
    ++known->use_count;
    return;
  }
  const auto owner = static_cast<std::uint32_t>(private_pools_.size());
  PrivatePool pool;
  pool.id = id;
  pool.has_own_allocator = options.has_own_allocator;
  pool.is_no_split = options.no_split && rules_.has_pool_options;
  pool.is_last_resort = options.use_on_oom && rules_.has_pool_options;
  pool.small = static_cast<std::uint32_t>(pools_.size());
  pool.large = pool.small + 1;
  pools_.push_back({.kind = PoolKind::kSmall, .owner = owner, .searches = 0, .lists = {}});
  pools_.push_back({.kind = PoolKind::kLarge, .owner = owner, .searches = 0, .lists = {}});
  private_pools_.push_back(pool);
}

void Simulator::begin_allocate_to_pool(PoolId id, std::optional<StreamHandle> stream) {
  create_pool(id);
  captures_.push_back({static_cast<std::uint32_t>(std::distance(
                           private_pools_.begin(),
                           std::find_if(private_pools_.begin(), private_pools_.end(),
                                        [&](const PrivatePool& one) { return !one.is_erased && one.id == id; }))),
                       stream});
}

void Simulator::end_allocate_to_pool(PoolId id) {
  const auto found = std::find_if(captures_.begin(), captures_.end(), [&](const Capture& capture) {
    return private_pools_[capture.private_pool].id == id;
  });
  if (found != captures_.end()) captures_.erase(found);
}

void Simulator::release_pool(PoolId id) {
  PrivatePool* const pool = find_private(id);
  if (pool != nullptr && --pool->use_count == 0) pool->is_freeable = true;
}

}  // namespace vramfit::allocator
