// One file for each verb: each adds its options to the parser and, when chosen, runs and returns an exit code.
#ifndef VRAMFIT_CLI_VERBS_H
#define VRAMFIT_CLI_VERBS_H

#include <functional>
#include <string>
#include <vector>

#include "cli/parser.h"

namespace vramfit::cli {

// What stood after --.
using Command = std::vector<std::string>;

struct Verb {
  Parser parser;
  std::function<int(const Command&)> act;
};

Verb add_run_verb(const Parser& parser);
Verb add_fit_verb(const Parser& parser);
Verb add_gpus_verb(const Parser& parser);
Verb add_estimate_verb(const Parser& parser);
Verb add_env_verb(const Parser& parser);
Verb add_watch_verb(const Parser& parser);
Verb add_runs_verb(const Parser& parser);
Verb add_show_verb(const Parser& parser);
Verb add_compare_verb(const Parser& parser);
Verb add_sweep_verb(const Parser& parser);
Verb add_doctor_verb(const Parser& parser);
Verb add_explain_verb(const Parser& parser);
Verb add_replay_verb(const Parser& parser);
Verb add_report_verb(const Parser& parser);
Verb add_serve_verb(const Parser& parser);
Verb add_export_verb(const Parser& parser);
Verb add_verify_verb(const Parser& parser);
Verb add_patch_verb(const Parser& parser);
Verb add_check_verb(const Parser& parser);
Verb add_init_verb(const Parser& parser);
Verb add_completion_verb(const Parser& parser);
// Hidden: what the scripts of `completion` ask. `all` is called once everything was added.
Verb add_complete_verb(const Parser& parser, std::function<grammar::VerbGrammar()> all);

}  // namespace vramfit::cli

#endif
