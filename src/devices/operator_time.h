// How long one kernel takes on a card.
//
//   product      max(waves of tiles x time of a tile, bytes / bandwidth) + start
//   convolution  the same, as the product that it is; with groups, nearer to a pass over memory
//   memory       max(bytes / bandwidth, elements x instructions / rate of instructions) + start; less where they lie in
//                L2. Elements are those that threads load or store one by one
//
// A product of rows x columns is cut into tiles; a card's processors take a tile each, and the last wave is as long as
// the others however few tiles are left for it. The fastest of the tiles that libraries have is taken. Large tiles read
// less and reach more of the peak.
#ifndef VRAMFIT_DEVICES_OPERATOR_TIME_H
#define VRAMFIT_DEVICES_OPERATOR_TIME_H

#include "devices/time_figures.h"
#include "model/card.h"
#include "model/job.h"

namespace vramfit::devices {

double estimate_kernel_seconds(const model::Card& card, const model::OperatorWork& work, const TimeFigures& figures);

}  // namespace vramfit::devices

#endif
