// What a real card tells of itself and of what this process holds on it: by the driver (libcuda.so.1) and by NVML
// (libnvidia-ml.so.1), both of which belong to the machine and are opened when PyTorch has used the card.
//
//   own, by NVML   | context | kernels, libraries |   reserved by PyTorch   |
//   used, by NVML  |                     of this process                    | other processes, the driver's own |
#ifndef VRAMFIT_RECORDER_REAL_CARD_H
#define VRAMFIT_RECORDER_REAL_CARD_H

#include <cstdint>
#include <optional>
#include <string>

namespace vramfit::recorder {

// Structures and numbers of NVML are those of abi/nvml.h.
class Nvml {
 public:
  using Handle = struct OpaqueDevice*;

  // Null: this machine has no NVML, or it does not answer. `driver`: of libcuda.so.1, beside which it lies where the
  // loader does not find it by its name.
  static const Nvml* find(void* driver);

  Handle card_of(const unsigned char (&uuid)[16], std::string& name) const;  // null: it knows no such card
  std::optional<int64_t> free_bytes(Handle card) const;
  // None: it does not list this process, or not what it holds (WSL; a container whose processes the driver doesn't
  // know).
  std::optional<int64_t> own_bytes(Handle card) const;
  std::string driver_version() const;

 private:
  struct Calls;
  explicit Nvml(const Calls& calls) : calls_(calls) {}
  const Calls& calls_;
};

struct RealCard {
  std::string name, uuid, driver;  // `uuid` as NVML spells it
  int64_t total_bytes = 0;         // that CUDA can give
  const Nvml* nvml = nullptr;
  Nvml::Handle handle = nullptr;
};

// The card that this process has under a number. None: the driver does not tell.
std::optional<RealCard> find_real_card(int device);

// One look at a card.
struct CardLook {
  int64_t used = 0;            // by everything
  std::optional<int64_t> own;  // by this process
};
std::optional<CardLook> look_at(const RealCard& card);

}  // namespace vramfit::recorder

#endif
