// The cards a user may name: the catalogue that ships with vramfit, and TOML files of the user's own.
#ifndef VRAMFIT_APP_CATALOGUE_H
#define VRAMFIT_APP_CATALOGUE_H

#include <string>
#include <vector>

#include "base/error.h"
#include "job/run.h"
#include "model/card.h"

namespace vramfit::app {

base::Result<std::vector<model::Card>> load_catalogue();

struct ChosenCards {
  std::vector<job::CardChoice> cards;
  bool real = false;               // --gpu real
  std::vector<std::string> notes;  // for the user: which of several cards was taken
};

// `options` are the values of --gpu, each a list: "8xV100-32GB", "a100-40gb,t4", "rtx3090:20GiB", "mine.toml", "real".
base::Result<ChosenCards> choose_cards(const std::vector<std::string>& options);

// The card with the memory that was asked for behind its name, and that as the memory's source; without MIG instances
// then, which are shares of the memory that it is sold with.
model::Card as_chosen(const job::CardChoice& choice);

}  // namespace vramfit::app

#endif
