#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "cli/verbs.h"

namespace {

using vramfit::cli::Command;
using vramfit::cli::Verb;

// "vramfit VERB options -- command": what is ours and what is the job's.
struct Words {
  std::vector<std::string> own;
  Command command;
};

Words split(int argc, char** argv) {
  Words words;
  bool behind = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!behind && word == "--") {
      behind = true;
    } else {
      (behind ? words.command : words.own).push_back(word);
    }
  }
  std::reverse(words.own.begin(), words.own.end());  // as CLI11 wants them
  return words;
}

int main_checked(int argc, char** argv) {
  CLI::App parser("Runs the real CUDA build of PyTorch on a virtual GPU and finds what makes a job fit its card.",
                  "vramfit");
  parser.set_version_flag("--version", "vramfit " VRAMFIT_VERSION);
  parser.require_subcommand(1);
  parser.footer("vramfit VERB [options] -- python script.py its own arguments");
  const std::vector<Verb> verbs = {vramfit::cli::add_run_verb(parser),     vramfit::cli::add_fit_verb(parser),
                                   vramfit::cli::add_gpus_verb(parser),    vramfit::cli::add_env_verb(parser),
                                   vramfit::cli::add_runs_verb(parser),    vramfit::cli::add_show_verb(parser),
                                   vramfit::cli::add_compare_verb(parser), vramfit::cli::add_sweep_verb(parser),
                                   vramfit::cli::add_watch_verb(parser),   vramfit::cli::add_doctor_verb(parser),
                                   vramfit::cli::add_explain_verb(parser), vramfit::cli::add_replay_verb(parser),
                                   vramfit::cli::add_report_verb(parser),  vramfit::cli::add_serve_verb(parser),
                                   vramfit::cli::add_export_verb(parser),  vramfit::cli::add_init_verb(parser),
                                   vramfit::cli::add_verify_verb(parser),  vramfit::cli::add_check_verb(parser)};
  Words words = split(argc, argv);
  try {
    parser.parse(words.own);
  } catch (const CLI::ParseError& problem) {
    const bool asked = problem.get_exit_code() == 0;  // --help, --version
    parser.exit(problem, std::cout, std::cerr);
    return asked ? 0 : 2;
  }
  for (const Verb& verb : verbs) {
    if (verb.parser->parsed()) return verb.act(words.command);
  }
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return main_checked(argc, argv);
  } catch (const std::exception& broken) {
    vramfit::cli::talk(
        fmt::format("vramfit: internal error: {}\n  please report this with the command you ran\n", broken.what()));
    return 2;
  }
}
