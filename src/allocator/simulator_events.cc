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

void Simulator::process_events() {
  insert_deferred_events();
  if (events_ == nullptr) return;
  for (StreamEvents& stream : pending_) {
    while (!stream.queue.empty() && events_->has_passed(stream.queue.front().event)) {
      const BlockId id = stream.queue.front().block;
      stream.queue.pop_front();
      finish_event(id);
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
  for (StreamEvents& stream : pending_) {
    std::erase_if(stream.queue, [&](const PendingEvent& event) { return event.block == id; });
  }
  std::erase_if(pending_, [](const StreamEvents& stream) { return stream.queue.empty(); });
  blocks_[id].event_count = 0;
  free_block(id);
}

}  // namespace vramfit::allocator
