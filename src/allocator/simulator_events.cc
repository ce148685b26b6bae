// record_stream: a freed block waits until the work of other streams that used it has passed.
#include <algorithm>

#include "allocator/simulator.h"

namespace vramfit::allocator {

void Simulator::record_stream(BlockId id, StreamHandle stream) {
  Block& block = blocks_[id];
  if (lists_[block.list]->stream == stream) return;
  const auto add = [&](std::vector<StreamHandle>& streams) {
    if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
  };
  block.has_uses = true;
  add(uses_[id]);
  if (!captures_.empty()) add(capture_uses_[block.serial]);
}

void Simulator::insert_events(BlockId id) {
  const auto found = uses_.find(id);
  if (blocks_[id].event_count == 0) blocks_[id].first_event = next_event_;
  if (found != uses_.end()) {
    for (const StreamHandle stream : found->second) {
      auto queue =
          std::find_if(pending_.begin(), pending_.end(), [&](const auto& one) { return one.stream == stream; });
      if (queue == pending_.end()) queue = pending_.insert(pending_.end(), StreamEvents{stream, {}});
      queue->queue.push_back({next_event_++, id});
      ++blocks_[id].event_count;
    }
    uses_.erase(found);
  }
  blocks_[id].has_uses = false;
}

// Only streams that were recorded before the capture get events: the graph orders the others.
void Simulator::insert_deferred_events() {
  const std::vector<BlockId> waiting = std::move(deferred_);
  deferred_.clear();
  for (const BlockId id : waiting) {
    if (const auto captured = capture_uses_.find(blocks_[id].serial); captured != capture_uses_.end()) {
      std::erase_if(uses_[id], [&](StreamHandle stream) {
        return std::find(captured->second.begin(), captured->second.end(), stream) != captured->second.end();
      });
      capture_uses_.erase(captured);
    }
    insert_events(id);
    if (blocks_[id].event_count == 0) free_block(id);
  }
}

void Simulator::finish_event(BlockId id) {
  if (--blocks_[id].event_count == 0) free_block(id);
}

bool Simulator::is_over(const PendingEvent& event) const {
  const Block& block = blocks_[event.block];
  return block.event_count == 0 || event.event < block.first_event;
}

void Simulator::process_events() {
  insert_deferred_events();
  for (StreamEvents& stream : pending_) {
    while (!stream.queue.empty()) {
      const PendingEvent first = stream.queue.front();
      const bool was_over = is_over(first);
      if (!was_over && (events_ == nullptr || !events_->has_passed(first.event))) break;
      stream.queue.pop_front();
      if (!was_over) finish_event(first.block);
    }
  }
  std::erase_if(pending_, [](const StreamEvents& stream) { return stream.queue.empty(); });
}

// `only_of`: the events of one private pool's blocks; kNone: all.
void Simulator::synchronize_events(std::uint32_t only_of) {
  ++statistics_.syncs;
  insert_deferred_events();
  std::vector<BlockId> finished;
  for (StreamEvents& stream : pending_) {
    std::erase_if(stream.queue, [&](const PendingEvent& event) {
      if (is_over(event)) return true;
      if (only_of != kNone && pool_of(blocks_[event.block]).owner != only_of) return false;
      if (--blocks_[event.block].event_count == 0) {
        finished.push_back(event.block);
        blocks_[event.block].event_count = 1;  // until its turn: a neighbour must not merge with it before
      }
      return true;
    });
  }
  std::erase_if(pending_, [](const StreamEvents& stream) { return stream.queue.empty(); });
  if (events_ != nullptr) events_->order_for_synchronization(finished);
  for (const BlockId id : finished) finish_event(id);
}

void Simulator::complete(BlockId id, std::uint32_t tag) {
  if (id >= blocks_.size() || blocks_[id].list == kNone || blocks_[id].tag != tag || blocks_[id].is_allocated) return;
  if (const auto waiting = std::find(deferred_.begin(), deferred_.end(), id); waiting != deferred_.end()) {
    deferred_.erase(waiting);
    uses_.erase(id);
    capture_uses_.erase(blocks_[id].serial);
    blocks_[id].has_uses = false;
    free_block(id);
    return;
  }
  if (blocks_[id].event_count == 0) return;
  blocks_[id].event_count = 0;  // its events are over where they stand in their queues, which may be long
  free_block(id);
}

}  // namespace vramfit::allocator
