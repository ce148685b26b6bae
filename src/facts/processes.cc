#include "facts/processes.h"

#include <algorithm>
#include <map>

#include "model/recording.h"

namespace vramfit::facts {

using base::Bytes;
using model::JobRole;
using model::notes::LaterRole;
using model::notes::ProcessRole;

namespace {

constexpr int kMostCards = 64;  // what is told of a device beyond is told of the host

std::vector<CardUse> read_cards(const model::Recording& recording) {
  std::map<int, CardUse> by_card;
  for (const vf_record& record : recording.records) {
    if (record.kind != VF_RECORD_CONTEXT && record.kind != VF_RECORD_LIBRARY && record.kind != VF_RECORD_BLOCK_ALLOC) {
      continue;
    }
    CardUse& use = by_card[record.device];
    if (record.kind == VF_RECORD_CONTEXT) {
      use.has_context = true;
      use.context += Bytes(record.size);
    } else if (record.kind == VF_RECORD_LIBRARY) {
      use.libraries += Bytes(record.size);
    } else {
      use.peak_allocated = std::max(use.peak_allocated, Bytes(record.a));
    }
  }
  std::vector<CardUse> cards;
  for (auto& [device, use] : by_card) {
    if (device >= kMostCards) continue;
    use.device = device;
    cards.push_back(use);
  }
  return cards;
}

JobRole role_of(ProcessRole role) { return role == ProcessRole::kChild ? JobRole::kChild : JobRole::kMain; }

void read_identity(const model::Notes& notes, Process& process) {
  const auto take_rank = [&](const auto& note) {
    process.rank = static_cast<int>(note.rank);
    process.world_size = static_cast<int>(note.world_size);
    process.local_rank = static_cast<int>(note.local_rank);
  };
  for (const auto& note : notes.process) {
    take_rank(note);
    if (note.role != ProcessRole::kUnread) process.role = role_of(note.role);
  }
  for (const auto& rank : notes.rank) take_rank(rank);
  for (const auto& note : notes.role) {
    if (note.role == LaterRole::kWorker) process.role = JobRole::kWorker;
  }
  for (const auto& thread : notes.thread) {
    process.threads.emplace_back(static_cast<std::uint32_t>(thread.thread), thread.role);
  }
  if (process.role != JobRole::kWorker && process.world_size > 1) process.role = JobRole::kRank;
}

}  // namespace

Process read_process(const model::Recording& recording) {
  Process process;
  process.pid = recording.pid;
  process.has_recorded = !recording.records.empty();
  process.cards = read_cards(recording);
  for (const auto& card : recording.notes.real_card) {
    process.real_cards.push_back(
        {static_cast<int>(card.device), card.name, card.uuid, card.driver, card.total_bytes, card.tells_own});
  }
  read_identity(recording.notes, process);
  return process;
}

}  // namespace vramfit::facts
