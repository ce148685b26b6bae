// One file for each verb: each adds its options to the parser and, when chosen, runs and returns an exit code.
#ifndef VRAMFIT_CLI_VERBS_H
#define VRAMFIT_CLI_VERBS_H

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace vramfit::cli {

// What stood after --.
using Command = std::vector<std::string>;

struct Verb {
  CLI::App* parser = nullptr;
  std::function<int(const Command&)> act;
};

Verb add_run_verb(CLI::App& parser);
Verb add_fit_verb(CLI::App& parser);
Verb add_gpus_verb(CLI::App& parser);
Verb add_env_verb(CLI::App& parser);
Verb add_watch_verb(CLI::App& parser);
Verb add_runs_verb(CLI::App& parser);
Verb add_show_verb(CLI::App& parser);
Verb add_compare_verb(CLI::App& parser);
Verb add_sweep_verb(CLI::App& parser);
Verb add_doctor_verb(CLI::App& parser);
Verb add_explain_verb(CLI::App& parser);
Verb add_replay_verb(CLI::App& parser);
Verb add_report_verb(CLI::App& parser);
Verb add_serve_verb(CLI::App& parser);
Verb add_export_verb(CLI::App& parser);
Verb add_verify_verb(CLI::App& parser);
Verb add_check_verb(CLI::App& parser);
Verb add_init_verb(CLI::App& parser);

}  // namespace vramfit::cli

#endif
