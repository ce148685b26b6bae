// From what a user calls a card to the card: "GTX 1070", gtx1070, "8xV100-32GB", rtx3090:20GiB, a TOML file.
#ifndef VRAMFIT_DEVICES_CATALOGUE_H
#define VRAMFIT_DEVICES_CATALOGUE_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/card.h"

namespace vramfit::devices {

// "NVIDIA GeForce RTX 3060" and "rtx3060" both become "rtx3060": case, punctuation and makers' words don't matter.
std::string normalised(std::string_view spelling);

// One element of --gpu: "8xV100-32GB:30GiB".
struct CardRequest {
  int count = 1;
  std::string name;                  // as typed, or the path of a TOML file
  std::optional<base::Bytes> total;  // after ':'
  friend bool operator==(const CardRequest&, const CardRequest&) = default;
};

// Splits "a100-40gb,2xt4" at commas; each element is a request.
base::Result<std::vector<CardRequest>> parse_gpu_option(std::string_view option);

// Whether the name is a file rather than a card's name: it ends in .toml.
bool is_card_file(std::string_view name);

struct Match {
  model::Card card;
  std::string note;  // when the name was ambiguous and the documented default was taken: for the user
};

// An exact key, name or alias wins. A name that several cards share with different memory ("a100") takes the smallest
// of them, which is the safe default, and says so. Otherwise the error lists the nearest names.
base::Result<Match> find_card(const std::vector<model::Card>& catalogue, std::string_view name);

}  // namespace vramfit::devices

#endif
