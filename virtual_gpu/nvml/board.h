// What kind of board a card is, as far as what it can tell depends on it.
#ifndef VRAMFIT_VIRTUAL_GPU_NVML_BOARD_H
#define VRAMFIT_VIRTUAL_GPU_NVML_BOARD_H

#include "virtual_gpu/nvml/nvml.h"

namespace vramfit::nvml {

inline int capability(const vf_card& card) { return 10 * card.compute_major + card.compute_minor; }

bool is_laptop(const vf_card& card);
// Boards that blow their own air: those of data centres take the rack's, and laptops have a fan that is not the card's.
bool has_fans(const vf_card& card);
// Boards of data centres: they tell a serial number, and their memory corrects errors as they are delivered.
bool is_of_data_centre(const vf_card& card);
// Rows that went bad are replaced by spare ones, from Ampere on, but not by boards for players; older ones retire
// pages.
bool remaps_rows(const vf_card& card);
bool retires_pages(const vf_card& card);

}  // namespace vramfit::nvml

#endif
