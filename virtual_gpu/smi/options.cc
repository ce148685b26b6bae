#include "virtual_gpu/smi/options.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "virtual_gpu/smi/report.h"

namespace vramfit::smi {
namespace {

// Options that change a card: refused as to a user without the rights to.
constexpr std::array kChanges = {"-pm",
                                 "--persistence-mode",
                                 "-pl",
                                 "--power-limit",
                                 "-ac",
                                 "--applications-clocks",
                                 "-rac",
                                 "-lgc",
                                 "-rgc",
                                 "-lmc",
                                 "-rmc",
                                 "-c",
                                 "--compute-mode",
                                 "-e",
                                 "--ecc-config",
                                 "-p",
                                 "-r",
                                 "--gpu-reset",
                                 "-mig",
                                 "--multi-instance-gpu",
                                 "-am",
                                 "-gom",
                                 "-caa"};
// Other programs within the real one.
constexpr std::array kOthers = {"dmon",        "pmon", "topo",        "nvlink", "mig",    "daemon",
                                "replay",      "vgpu", "drain",       "stats",  "clocks", "encodersessions",
                                "fbcsessions", "c2c",  "conf-compute"};

bool holds(const auto& words, const std::string& word) { return std::ranges::find(words, word) != words.end(); }

struct Parser {
  const std::vector<std::string>& arguments;
  size_t at = 0;
  Parsed parsed;
  bool has_format = false;

  void fail(int code, const std::string& problem) {
    if (parsed.exit != kDone) return;
    parsed.exit = code;
    parsed.problem = problem;
  }

  // The value of `--name=value`, `--name value` or `-n value`; nothing when the argument is another.
  std::optional<std::string> value_of(std::initializer_list<const char*> names) {
    const std::string& word = arguments[at];
    for (const std::string name : names) {
      if (word.starts_with(name + "=")) return word.substr(name.size() + 1);
      if (word != name) continue;
      if (at + 1 < arguments.size()) return arguments[++at];
      fail(kInvalidArgument, "Option " + name + " requires a value.\n");
      return "";
    }
    return std::nullopt;
  }

  void take_csv(Ask ask, const std::string& fields) {
    parsed.options.ask = ask;
    parsed.options.fields = split_list(fields);
    const std::string unknown =
        ask == Ask::kGpuCsv ? unknown_gpu_field(parsed.options.fields) : unknown_process_field(parsed.options.fields);
    if (!unknown.empty()) fail(kInvalidArgument, "Field \"" + unknown + "\" is not a valid field to query.\n\n");
    if (parsed.options.fields.empty()) fail(kInvalidArgument, "No fields to query were specified.\n");
  }

  void take_format(const std::string& text) {
    has_format = true;
    for (const std::string& word : split_list(text)) {
      if (word == "noheader") {
        parsed.options.form.header = false;
      } else if (word == "nounits") {
        parsed.options.form.units = false;
      } else if (word != "csv") {
        fail(kInvalidArgument, "Unsupported format \"" + word + "\". Use csv[,noheader][,nounits].\n");
      }
    }
  }

  void take_displays(const std::string& text) {
    for (const std::string& word : split_list(text)) {
      if (is_display(word)) {
        parsed.options.displays.push_back(word);
      } else {
        not_modelled("-d " + word);
      }
    }
  }

  void not_modelled(const std::string& what) {
    fail(kNotAvailable, "nvidia-smi of a virtual card: " + what + " is not modelled by vramfit.\n");
    parsed.not_modelled = "nvidia-smi " + what;
  }

  // The number after it may be left out: `-l` alone means every five seconds.
  bool take_loop(const std::string& name, long unit, long otherwise) {
    const std::string& word = arguments[at];
    const bool has_value = word.starts_with(name + "=");
    if (word != name && !has_value) return false;
    std::string number = has_value ? word.substr(name.size() + 1) : "";
    if (!has_value && at + 1 < arguments.size() && std::atol(arguments[at + 1].c_str()) > 0) number = arguments[++at];
    parsed.options.every_ms = number.empty() ? otherwise : std::max(1L, std::atol(number.c_str())) * unit;
    return true;
  }

  bool take_any_loop() {
    return take_loop("-l", 1000, 5000) || take_loop("--loop", 1000, 5000) || take_loop("-lms", 1, 500) ||
           take_loop("--loop-ms", 1, 500);
  }

  void take_flag(const std::string& word) {
    if (word == "-L" || word == "--list-gpus") {
      parsed.options.ask = Ask::kList;
    } else if (word == "-q" || word == "--query") {
      parsed.options.ask = Ask::kReport;
    } else if (word == "-x" || word == "--xml-format") {
      parsed.options.xml = true;
    } else if (word == "-h" || word == "--help") {
      parsed.options.ask = Ask::kHelp;
    } else if (word == "--help-query-gpu") {
      parsed.options.ask = Ask::kFieldsHelp;
    } else if (word == "--version") {
      parsed.options.ask = Ask::kVersion;
    } else if (holds(kChanges, word.substr(0, word.find('=')))) {
      fail(kNoPermission, "Unable to change the settings of a virtual card: Insufficient Permissions\n");
      at = arguments.size();
    } else if (holds(kOthers, word) || word.starts_with("--query-") || word == "-a") {
      not_modelled(word);
      at = arguments.size();
    } else {
      fail(kInvalidArgument, "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n");
    }
  }

  void take() {
    if (const auto fields = value_of({"--query-gpu"})) return take_csv(Ask::kGpuCsv, *fields);
    if (const auto fields = value_of({"--query-compute-apps", "--query-apps"}))
      return take_csv(Ask::kProcessCsv, *fields);
    if (const auto format = value_of({"--format"})) return take_format(*format);
    if (const auto displays = value_of({"-d", "--display"})) return take_displays(*displays);
    if (const auto cards = value_of({"-i", "--id"})) {
      parsed.options.cards = split_list(*cards);
      return;
    }
    if (const auto file = value_of({"-f", "--filename"})) {
      parsed.options.file = *file;
      return;
    }
    if (!take_any_loop()) take_flag(arguments[at]);
  }
};

}  // namespace

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> pieces;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    std::string piece = text.substr(start, end - start);
    piece.erase(0, piece.find_first_not_of(' '));
    piece.erase(piece.find_last_not_of(' ') + 1);
    if (!piece.empty()) pieces.push_back(piece);
    start = end + 1;
  }
  return pieces;
}

Parsed parse_options(const std::vector<std::string>& arguments) {
  Parser parser{arguments};
  for (; parser.at < arguments.size(); ++parser.at) parser.take();
  const bool is_csv = parser.parsed.options.ask == Ask::kGpuCsv || parser.parsed.options.ask == Ask::kProcessCsv;
  if (is_csv && !parser.has_format)
    parser.fail(kInvalidArgument, "\"--format=\" option is required with this switch. Use --format=csv.\n");
  return parser.parsed;
}

}  // namespace vramfit::smi
