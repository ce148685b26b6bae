// vramfit_ledger_tool: makes, shows and removes ledgers by hand while developing. Not installed.
//
//   create PATH [--name N] [--cc 8.6] [--sms 82] [--total BYTES] [--context BYTES] [--kernels BYTES]
//               [--library BYTES] [--occupied BYTES] [--smem-sm BYTES] [--smem-optin BYTES] [--threads-sm N] [--count
//               N]
//               [--driver 13000] [--values 0|1] [--nccl BYTES]       --count repeats the card
//   show PATH
//   remove PATH
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "virtual_gpu/testing/session.h"

namespace {

using vramfit::testing::SessionOptions;

int complain(const std::string& text) {
  std::fprintf(stderr, "vramfit_ledger_tool: %s\n", text.c_str());
  return 2;
}

bool apply_option(const std::string& name, const char* value, vf_card& card, SessionOptions& options, int& count) {
  const std::map<std::string, int64_t vf_card::*> bytes = {{"--total", &vf_card::total_bytes},
                                                           {"--context", &vf_card::context_bytes},
                                                           {"--kernels", &vf_card::kernel_bytes},
                                                           {"--library", &vf_card::library_bytes},
                                                           {"--occupied", &vf_card::occupied_bytes}};
  const std::map<std::string, int32_t vf_card::*> numbers = {{"--sms", &vf_card::sm_count},
                                                             {"--smem-sm", &vf_card::shared_bytes_per_sm},
                                                             {"--smem-optin", &vf_card::shared_bytes_per_block_optin},
                                                             {"--threads-sm", &vf_card::max_threads_per_sm}};
  if (const auto at = bytes.find(name); at != bytes.end()) {
    card.*at->second = std::atoll(value);
  } else if (const auto number = numbers.find(name); number != numbers.end()) {
    card.*number->second = std::atoi(value);
  } else if (name == "--name") {
    std::snprintf(card.name, sizeof card.name, "%s", value);
  } else if (name == "--cc") {
    return std::sscanf(value, "%d.%d", &card.compute_major, &card.compute_minor) == 2;
  } else if (name == "--count") {
    count = std::atoi(value);
  } else if (name == "--driver") {
    options.driver_version = static_cast<unsigned>(std::atoi(value));
  } else if (name == "--values") {
    options.values = static_cast<unsigned>(std::atoi(value));
  } else if (name == "--nccl") {
    options.nccl_channel_bytes = std::atoll(value);
  } else {
    return false;
  }
  return true;
}

int create(const std::string& path, const std::vector<const char*>& arguments) {
  vf_card card = vramfit::testing::example_card();
  SessionOptions options;
  int count = 1;
  for (size_t i = 0; i + 1 < arguments.size(); i += 2) {
    if (!apply_option(arguments[i], arguments[i + 1], card, options, count)) {
      return complain(std::string("unknown option ") + arguments[i]);
    }
  }
  if (arguments.size() % 2 != 0) return complain("an option without a value");
  options.cards.assign(static_cast<size_t>(count), card);
  const std::string error = vramfit::testing::create_session(path, options);
  return error.empty() ? 0 : complain(error);
}

void show_card(const vf_ledger& ledger, uint32_t index) {
  const vf_card& card = ledger.cards[index];
  const vf_card_use& use = ledger.use[index];
  std::printf("card %u: %s, compute %d.%d, %lld bytes\n", index, card.name, card.compute_major, card.compute_minor,
              static_cast<long long>(card.total_bytes));
  std::printf("  used %lld, peak %lld, refused %lld (largest %lld, least free %lld)\n",
              static_cast<long long>(use.used_bytes), static_cast<long long>(use.peak_used_bytes),
              static_cast<long long>(use.refused), static_cast<long long>(use.largest_refused_bytes),
              static_cast<long long>(use.smallest_free_bytes_at_refusal));
  for (const vf_process& process : ledger.processes) {
    if (process.started == 0 || process.peak_used_bytes[index] == 0) continue;
    std::printf("  process %d%s: used %lld, peak %lld, context %lld, libraries %lld\n", process.pid,
                process.pid == 0 ? " (ended)" : "", static_cast<long long>(process.used_bytes[index]),
                static_cast<long long>(process.peak_used_bytes[index]),
                static_cast<long long>(process.context_bytes[index]),
                static_cast<long long>(process.library_bytes[index]));
  }
}

int show(const std::string& path) {
  vf_ledger* ledger = vramfit::testing::open_session(path);
  if (ledger == nullptr || ledger->magic != VF_LEDGER_MAGIC) return complain("not a ledger: " + path);
  for (uint32_t index = 0; index < ledger->card_count; ++index) show_card(*ledger, index);
  for (const vf_ledger_note& note : ledger->notes) {
    if (note.kind != 0) std::printf("note %u x%u: %s\n", note.kind, note.count, note.text);
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) return complain("create|show|remove PATH [options]");
  const std::string verb = words[1];
  if (verb == "create") return create(words[2], std::vector<const char*>(words + 3, words + count));
  if (verb == "show") return show(words[2]);
  if (verb == "remove") return unlink(words[2]) == 0 ? 0 : complain(std::string("cannot remove ") + words[2]);
  return complain("unknown verb " + verb);
}
