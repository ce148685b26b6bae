// What people type as the value of an option, and small files of our own that another process still writes or may have
// cut off: the first byte chooses the reader.
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/rules.h"
#include "allocator/settings.h"
#include "base/file.h"
#include "chosen_reader.h"
#include "devices/card_names.h"
#include "devices/catalogue.h"
#include "probe/ledger_source.h"
#include "probe/recording_tail.h"
#include "sweep/variables.h"
#include "virtual_gpu/cudnn/learned_file.h"
#include "virtual_gpu/cudnn/recorded.h"
#include "virtual_gpu/library/requirement.h"
#include "watch/alert.h"

namespace {

using vramfit::fuzz::require;

// The end of a recording alone tells no more than the whole of it does.
void read_tail(std::string_view bytes) {
  namespace probe = vramfit::probe;
  const vramfit::base::FileDescriptor file(::memfd_create("recording", MFD_CLOEXEC));
  require(::write(file.number(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const std::string path = "/proc/self/fd/" + std::to_string(file.number());
  const auto some = probe::read_recording_tail(path, 8);
  const auto all = probe::read_recording_tail(path);
  require(some.has_value() == all.has_value());
  if (!some) return;
  for (const auto& [device, reading] : *some) require(all->contains(device) && all->at(device) == reading);
}

// Reads it as it is, which is too short, and with what lacks of a ledger's size.
void read_session(std::string_view bytes) {
  namespace probe = vramfit::probe;
  const vramfit::base::FileDescriptor file(::memfd_create("ledger", MFD_CLOEXEC));
  require(::write(file.number(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  require(bytes.size() >= sizeof(vf_ledger) || !probe::read_ledger(file, "ledger"));
  require(::ftruncate(file.number(), sizeof(vf_ledger)) == 0);
  const auto ledger = probe::read_ledger(file, "ledger");
  if (!ledger) return;
  vramfit::model::MachineSample sample;
  std::vector<probe::ListedUse> uses;
  probe::list_uses(**ledger, "1-a", sample, uses);
  require(sample.cards.size() == (*ledger)->card_count);
}

void read_workspaces(std::string_view text) {
  for (const auto& [key, one] : vramfit::cudnn::parse_learned(text)) require(one.taken >= 0 && one.largest >= 0);
}

void read_table(std::string_view bytes) {
  const std::string aligned(bytes);  // as a file's is
  static_cast<void>(vramfit::cudnn::RecordedTable::open(aligned));
}

void read_metadata(std::string_view text) {
  static_cast<void>(vramfit::library::parse_requirement(text, "nvidia-cudnn"));
}

void read_alert(std::string_view text) {
  const auto rule = vramfit::watch::parse_alert(text);
  require(!rule || (std::isfinite(rule->limit) && rule->limit >= 0 && rule->hold_ns >= 0));
}

void read_duration(std::string_view text) {
  const auto duration = vramfit::watch::parse_duration(text);
  require(!duration || *duration >= 0);
}

// What is read can be written, and is the same when it is read again.
void read_settings(std::string_view text) {
  namespace allocator = vramfit::allocator;
  const std::size_t end = text.find(' ');
  const auto version = allocator::parse_torch_version(text.substr(0, end));
  if (!version || end == std::string_view::npos) return;
  const allocator::Rules rules = allocator::rules_of(*version);
  const auto settings = allocator::parse_settings(text.substr(end + 1), rules);
  if (!settings) return;
  const auto again = allocator::parse_settings(allocator::to_string(*settings), rules);
  require(again && *again == *settings);
}

void read_cards(std::string_view text) {
  static_cast<void>(vramfit::devices::parse_card_name(text));
  const auto requests = vramfit::devices::parse_gpu_option(text);
  if (!requests) return;
  for (const vramfit::devices::CardRequest& one : *requests) require(one.count >= 1 && !one.name.empty());
}

void read_variable(std::string_view text) {
  static_cast<void>(vramfit::sweep::parse_variable(std::string(text)));
  static_cast<void>(vramfit::sweep::parse_goal(std::string(text)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return vramfit::fuzz::read_as_chosen(data, size,
                                       {{'t', read_tail},
                                        {'l', read_session},
                                        {'w', read_workspaces},
                                        {'r', read_table},
                                        {'m', read_metadata},
                                        {'a', read_alert},
                                        {'d', read_duration},
                                        {'s', read_settings},
                                        {'g', read_cards},
                                        {'v', read_variable}});
}
