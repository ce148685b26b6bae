// nvidia-smi for virtual cards: a job that calls it finds this one first in its PATH (src/job/child_environment.cc).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "virtual_gpu/ledger/ledger.h"
#include "virtual_gpu/smi/options.h"
#include "virtual_gpu/smi/printed.h"
#include "virtual_gpu/smi/report.h"
#include "virtual_gpu/smi/table.h"

namespace smi = vramfit::smi;

namespace {

constexpr int kNvmlGpuIsLost = 15;

constexpr char kHelp[] =
    "nvidia-smi of vramfit's virtual cards. What it answers:\n\n"
    "  nvidia-smi                       the table of cards and processes\n"
    "  nvidia-smi -L                    the list of cards\n"
    "  nvidia-smi -q [-d SECTION] [-x]  all that is known of each card\n"
    "  nvidia-smi --query-gpu=FIELDS --format=csv[,noheader][,nounits]   (--help-query-gpu lists the fields)\n"
    "  nvidia-smi --query-compute-apps=FIELDS --format=csv[,noheader][,nounits]\n\n"
    "  -i CARDS   index, UUID or bus id     -l SECONDS, -lms MILLISECONDS   again and again     -f FILE\n";

bool is_chosen(const smi::Card& card, const std::vector<std::string>& wanted) {
  return wanted.empty() || std::ranges::any_of(wanted, [&](const std::string& one) {
           return one == std::to_string(card.index) || one == card.uuid || one == card.bus_id ||
                  "0000" + one == card.bus_id;
         });
}

std::string answer(const smi::Machine& machine, const smi::Options& options) {
  const std::string date = smi::date_now("%a %b %e %H:%M:%S %Y");
  switch (options.ask) {
    case smi::Ask::kList:
      return smi::list(machine);
    case smi::Ask::kReport:
      return options.xml ? smi::xml_report(machine, date) : smi::report(machine, options.displays, date);
    case smi::Ask::kGpuCsv:
      return smi::gpu_csv(machine, options.fields, options.form);
    case smi::Ask::kProcessCsv:
      return smi::process_csv(machine, options.fields, options.form);
    case smi::Ask::kVersion:
      return "NVIDIA-SMI version  : " + machine.driver + "\nDRIVER version      : " + machine.driver +
             "\nCUDA Version        : " + smi::cuda_text(machine.cuda) + "\n";
    case smi::Ask::kHelp:
    case smi::Ask::kFieldsHelp:
    case smi::Ask::kTable:
      break;
  }
  return smi::table(machine, date);
}

int refuse(int exit, const std::string& problem) {
  std::fputs(problem.c_str(), stdout);  // the real tool complains there too
  return exit;
}

int show(const smi::Options& options, std::FILE* out) {
  smi::Machine machine;
  std::string which;
  const int status = smi::read_machine(machine, which);
  if (status != 0 && which.empty()) {
    return refuse(smi::kNoDriver,
                  "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the "
                  "latest NVIDIA driver is installed and running.\n\n");
  }
  if (status != 0) {
    const char* const why =
        status == kNvmlGpuIsLost ? "GPU is lost.  Reboot the system to recover this GPU" : "Unknown Error";
    return refuse(smi::kGpuLost, "Unable to determine the device handle for " + which + ": " + why + "\n");
  }
  std::erase_if(machine.cards, [&](const smi::Card& card) { return !is_chosen(card, options.cards); });
  if (machine.cards.empty()) return refuse(smi::kNotFound, "No devices were found\n");
  const std::string text = answer(machine, options);
  const bool is_written = std::fwrite(text.data(), 1, text.size(), out) == text.size() && std::fflush(out) == 0;
  return is_written ? smi::kDone : smi::kInvalidArgument;
}

int run(const smi::Options& options) {
  std::FILE* const out = options.file.empty() ? stdout : std::fopen(options.file.c_str(), "w");
  if (out == nullptr) return refuse(smi::kInvalidArgument, "Unable to open file " + options.file + " for writing.\n");
  int exit = show(options, out);
  smi::Options next = options;
  next.form.header = false;  // of a loop the header is printed once
  while (exit == smi::kDone && options.every_ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(*options.every_ms));
    exit = show(next, out);
  }
  if (out != stdout) std::fclose(out);
  return exit;
}

}  // namespace

int main(int count, char** words) {
  const smi::Parsed parsed = smi::parse_options({words + 1, words + count});
  if (!parsed.not_modelled.empty()) vramfit::ledger::note_not_modelled(parsed.not_modelled.c_str());
  if (parsed.exit != smi::kDone) return refuse(parsed.exit, parsed.problem);
  if (parsed.options.ask == smi::Ask::kHelp) return refuse(smi::kDone, kHelp);
  if (parsed.options.ask == smi::Ask::kFieldsHelp) return refuse(smi::kDone, smi::gpu_fields_help());
  return run(parsed.options);
}
