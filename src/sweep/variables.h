// How a variable of a sweep changes a trial: the words of the job's command, of `vramfit run`, or the plan.
//
//   --crop-size=512,768     the option's value in the command, or the option appended
//   {name}                  wherever the command has {name}
//   batch                   {batch}, or the option by which the command sets its batch size
//   gpu steps values occupied torch cudnn   options of `vramfit run`
//   amp=off,bf16,fp16  alloc=off,CONF  plan=off,FILE   the plan that is applied
#ifndef VRAMFIT_SWEEP_VARIABLES_H
#define VRAMFIT_SWEEP_VARIABLES_H

#include <string>
#include <vector>

#include "base/error.h"
#include "model/plan.h"
#include "model/sweep.h"

namespace vramfit::sweep {

struct TrialCommand {
  std::vector<std::string> run_options;  // gpu and the like, as words for `vramfit run`
  std::vector<std::string> command;
  model::Plan plan;  // no changes: none is applied
};

// "batch=1,2,4": commas stand between values; a value with commas is given as name=a;b;c, whose separator is ";".
base::Result<model::SweepVariable> parse_variable(const std::string& text);

// What --vary knows by itself, for completion: "amp=off", or "batch=" where the values are the user's.
std::vector<std::string> words_to_vary();

// "batch" or "batch=1..512".
base::Result<model::SweepGoal> parse_goal(const std::string& text);

// Every combination, the last variable changing fastest.
std::vector<std::vector<std::string>> combine(const std::vector<model::SweepVariable>& variables);

// `values` belong to the variables and then the goal. Where the command does not say its batch size, the option of its
// script's that takes one is added, or a plan changes the batches of its first loader.
base::Result<TrialCommand> build_trial(const model::SweepSpec& spec, const std::vector<std::string>& values);

// Whether each value can be put into the command, before anything is made.
base::Result<void> check_trials(const model::SweepSpec& spec);

}  // namespace vramfit::sweep

#endif
