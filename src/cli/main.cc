#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/terminal.h"
#include "cli/verbs.h"

namespace {

using vramfit::cli::Command;
using vramfit::cli::Verb;

// "vramfit VERB options -- command": what is ours and what is the job's.
struct Words {
  std::vector<std::string> own;
  bool has_command = false;
  Command command;
};

Words split(int argc, char** argv) {
  Words words;
  bool behind = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!behind && word == "--") {
      behind = words.has_command = true;
    } else {
      (behind ? words.command : words.own).push_back(word);
    }
  }
  return words;
}

// An answer that could not be written (a full disk behind `> FILE`) is none. Who reads only its head is no such case.
int unless_lost(int code) {
  errno = 0;
  const bool was_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (was_written || errno == EPIPE) return code;
  return vramfit::cli::report_error(vramfit::base::Error{vramfit::base::ErrorCode::kSystem,
                                                         "what there was to say could not be written",
                                                         "standard output", "whether its disk is full"});
}

int main_checked(int argc, char** argv) {
  const vramfit::cli::CommandLine line(
      "Runs the real CUDA build of PyTorch on a virtual GPU and finds what makes a job fit its card.",
      "vramfit " VRAMFIT_VERSION, "vramfit VERB [options] -- python script.py its own arguments");
  std::vector<Verb> verbs;
  for (const auto add :
       {vramfit::cli::add_run_verb,    vramfit::cli::add_fit_verb,     vramfit::cli::add_estimate_verb,
        vramfit::cli::add_gpus_verb,   vramfit::cli::add_env_verb,     vramfit::cli::add_runs_verb,
        vramfit::cli::add_show_verb,   vramfit::cli::add_compare_verb, vramfit::cli::add_sweep_verb,
        vramfit::cli::add_watch_verb,  vramfit::cli::add_doctor_verb,  vramfit::cli::add_explain_verb,
        vramfit::cli::add_replay_verb, vramfit::cli::add_report_verb,  vramfit::cli::add_serve_verb,
        vramfit::cli::add_export_verb, vramfit::cli::add_init_verb,    vramfit::cli::add_verify_verb,
        vramfit::cli::add_check_verb,  vramfit::cli::add_patch_verb,   vramfit::cli::add_completion_verb}) {
    verbs.push_back(add(line.parser()));
  }
  // Only now: verbs begin with what stands at the end of the whole program's help.
  line.parser().examples({"vramfit fit --gpu \"RTX 3060\" -- python train.py --batch-size 32",
                          "vramfit doctor train.log snapshot.pickle"});
  verbs.push_back(vramfit::cli::add_complete_verb(line.parser(), [&line] { return line.grammar(); }));
  const Words words = split(argc, argv);
  if (const auto code = line.read(words.own, words.has_command)) return unless_lost(*code);
  for (const Verb& verb : verbs) {
    if (verb.parser.was_chosen()) return unless_lost(verb.act(words.command));
  }
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    vramfit::cli::fit_page_to_terminal();
    return main_checked(argc, argv);
  } catch (const std::filesystem::filesystem_error& refused) {
    // What the machine refuses (a folder that may not be read) is nothing of ours that broke.
    const std::string where = refused.path1().string();
    return vramfit::cli::report_error(vramfit::base::Error{vramfit::base::ErrorCode::kSystem, refused.code().message(),
                                                           where, "whether it is there and may be read"});
  } catch (const std::exception& broken) {
    vramfit::cli::talk(
        fmt::format("vramfit: internal error: {}\n  please report this with the command you ran\n", broken.what()));
    return 2;
  }
}
