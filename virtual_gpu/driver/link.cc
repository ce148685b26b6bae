// Linking PTX: the pieces are kept as they are; the "cubin" is the last of them.
#include <mutex>
#include <set>
#include <string>

#include "virtual_gpu/driver/driver.h"

struct CUlinkState_st {
  std::string image;
};

namespace {

struct Links {
  std::mutex lock;
  std::set<CUlinkState> live;
};

Links& links() {
  static auto* const kLinks = new Links;  // outlives other libraries' destructors
  return *kLinks;
}

bool is_live(CUlinkState state) {
  const std::lock_guard guard(links().lock);
  return links().live.contains(state);
}

}  // namespace

CUresult cuLinkCreate_v2(unsigned, CUjit_option*, void**, CUlinkState* state) {
  VF_NEED(state);
  *state = nullptr;
  VF_NEED_CARD();
  auto* made = new CUlinkState_st;
  const std::lock_guard guard(links().lock);
  links().live.insert(made);
  *state = made;
  return CUDA_SUCCESS;
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType, void* data, size_t bytes, const char*, unsigned,
                          CUjit_option*, void**) {
  VF_NEED(data);
  if (!is_live(state)) return CUDA_ERROR_INVALID_HANDLE;
  state->image.assign(static_cast<const char*>(data), bytes);
  return CUDA_SUCCESS;
}

CUresult cuLinkComplete(CUlinkState state, void** cubin, size_t* bytes) {
  VF_NEED(cubin);
  if (!is_live(state)) return CUDA_ERROR_INVALID_HANDLE;
  state->image.push_back('\0');
  *cubin = state->image.data();
  if (bytes != nullptr) *bytes = state->image.size();
  return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state) {
  {
    const std::lock_guard guard(links().lock);
    if (links().live.erase(state) == 0) return CUDA_ERROR_INVALID_HANDLE;
  }
  delete state;
  return CUDA_SUCCESS;
}
