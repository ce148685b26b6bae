// Finds the card that a user names: "GTX 1070", gtx1070, "8xV100-32GB", rtx3090:20GiB, a TOML file.
#ifndef VRAMFIT_DEVICES_CATALOGUE_H
#define VRAMFIT_DEVICES_CATALOGUE_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/card.h"

namespace vramfit::devices {

// One element of --gpu: "8xV100-32GB:30GiB".
struct CardRequest {
  int count = 1;
  std::string name;                  // as typed, or the path of a TOML file
  std::optional<base::Bytes> total;  // after ':'
  std::string slice = "";            // "1g" of h100:1g: of a card that can be cut perhaps the beginning of a profile
  friend bool operator==(const CardRequest&, const CardRequest&) = default;
};

// Splits "a100-40gb,2xt4" at commas; each element is a request. A count may stand before or after the name: "2 x t4",
// "V100 x8".
base::Result<std::vector<CardRequest>> parse_gpu_option(std::string_view option);

// A size that is as well the beginning of a MIG profile of the card is refused: which was meant, nobody can tell.
base::Result<void> check_size(const CardRequest& request, const model::Card& card);

// Whether the name is a file rather than a card's name: it ends in .toml.
bool is_card_file(std::string_view name);

struct Match {
  model::Card card;
  std::string note;  // what was assumed where the name was not one card's full name: for the user
};

// A name in any spelling is its card: case, punctuation, makers' words, a size or a form that the card has. A model
// whose name says no size takes the smallest of its cards and says so ("a100"), or the one that is called so
// ("GTX 1060"); a name without its series is taken where it can mean one model only, and said ("3090", "3080"), and
// refused where it can mean several ("RTX 6000"). A profile behind it takes a slice ("h100:1g.10gb", mig.h). Nothing
// else is guessed: the error lists the nearest names.
base::Result<Match> find_card(const std::vector<model::Card>& catalogue, std::string_view name);

}  // namespace vramfit::devices

#endif
