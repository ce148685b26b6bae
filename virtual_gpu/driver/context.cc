// Contexts. The runtime's primary contexts and the driver's own stack per thread describe one thing: the thread's card.
#include "virtual_gpu/device/context.h"

#include <array>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "virtual_gpu/device/memory.h"
#include "virtual_gpu/device/stream.h"
#include "virtual_gpu/driver/code.h"
#include "virtual_gpu/driver/driver.h"

namespace ledger = vramfit::ledger;
namespace device = vramfit::device;

namespace vramfit::driver {
namespace {

struct Contexts {
  std::mutex lock;
  std::array<CUctx_st, VF_MAX_CARDS> primary;
  std::set<CUcontext> made;
  // Kept, as streams are: another thread may still have one on its stack, and a new one never has an old one's address.
  std::vector<CUcontext> destroyed;
  std::set<std::pair<int, int>> peers;
  Contexts() {
    for (int card = 0; card < VF_MAX_CARDS; ++card) primary[card].card = card;
  }
};

Contexts& contexts() {
  static auto* const kContexts = new Contexts;  // outlives other libraries' destructors
  return *kContexts;
}

thread_local std::vector<CUcontext> stack;

bool is_live(CUcontext context) {
  Contexts& all = contexts();
  if (context >= all.primary.begin() && context < all.primary.end()) return true;
  const std::lock_guard guard(all.lock);
  return all.made.contains(context);
}

CUresult make_current(CUcontext context) {
  if (!is_live(context)) return CUDA_ERROR_INVALID_CONTEXT;
  ledger::set_current_card(context->card);
  return ledger::touch(context->card) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

const void* owner_of_new() {
  const CUcontext current = current_context();
  return current == nullptr || current->is_primary ? nullptr : current;
}

CUresult create(CUcontext* context, unsigned flags, CUdevice card) {
  VF_NEED(context);
  *context = nullptr;
  VF_NEED_THIS_CARD(card);
  device::ask_for_context_by(owner_of_new);
  const int64_t bytes = ledger::card(card)->context_bytes;
  if (!ledger::take(card, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  auto* made = new CUctx_st{.card = card, .is_primary = false, .flags = flags, .charged_bytes = bytes};
  {
    const std::lock_guard guard(contexts().lock);
    contexts().made.insert(made);
  }
  stack.push_back(made);
  ledger::set_current_card(card);
  *context = made;
  return CUDA_SUCCESS;
}

// Defaults of the driver; what a program sets is remembered, nothing depends on it.
size_t limits[CU_LIMIT_MAX] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0, 0, 0};

}  // namespace

CUcontext primary_context(int card) { return &contexts().primary[card]; }

CUcontext current_context() {
  const int card = ledger::current_card();
  if (!stack.empty() && stack.back()->card == card) return stack.back();
  return ledger::is_touched(card) ? primary_context(card) : nullptr;
}

}  // namespace vramfit::driver

using vramfit::driver::answer;
using vramfit::driver::current_context;
using vramfit::driver::stack;

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice card) {
  VF_NEED(context);
  *context = nullptr;
  VF_NEED_THIS_CARD(card);
  if (!ledger::touch(card)) return CUDA_ERROR_OUT_OF_MEMORY;
  *context = vramfit::driver::primary_context(card);
  return CUDA_SUCCESS;
}

// The runtime keeps its context until the process ends, so ours stays too.
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice card) {
  VF_NEED_THIS_CARD(card);
  return CUDA_SUCCESS;
}

// Resets as the runtime does: the card's memory goes, and the context, which the next call would make again, stays.
CUresult cuDevicePrimaryCtxReset_v2(CUdevice card) {
  VF_NEED_THIS_CARD(card);
  device::release_all_on(card);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice card, unsigned flags) {
  VF_NEED_THIS_CARD(card);
  vramfit::driver::primary_context(card)->flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice card, unsigned* flags, int* is_active) {
  VF_NEED(flags);
  VF_NEED(is_active);
  *flags = 0;
  *is_active = 0;
  VF_NEED_THIS_CARD(card);
  *flags = vramfit::driver::primary_context(card)->flags;
  *is_active = ledger::is_touched(card) ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice card) {
  return vramfit::driver::create(context, flags, card);
}

CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam*, int, unsigned flags, CUdevice card) {
  return vramfit::driver::create(context, flags, card);
}

CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams*, unsigned flags, CUdevice card) {
  return vramfit::driver::create(context, flags, card);
}

CUresult cuCtxDestroy_v2(CUcontext context) {
  VF_NEED_CARD();
  {
    const std::lock_guard guard(vramfit::driver::contexts().lock);
    if (vramfit::driver::contexts().made.erase(context) == 0) return CUDA_ERROR_INVALID_CONTEXT;
    vramfit::driver::contexts().destroyed.push_back(context);
  }
  std::erase(stack, context);
  vramfit::driver::unload_modules_of(context);
  device::destroy_all_of(context);
  ledger::give_back(context->card, context->charged_bytes);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  VF_NEED(context);
  *context = nullptr;
  VF_NEED_CARD();
  *context = current_context();
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  VF_NEED_CARD();
  if (!stack.empty()) stack.pop_back();
  if (context == nullptr) return CUDA_SUCCESS;
  const CUresult result = vramfit::driver::make_current(context);
  if (result == CUDA_SUCCESS) stack.push_back(context);
  return result;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  VF_NEED_CARD();
  if (stack.empty() && current_context() != nullptr) stack.push_back(current_context());
  const CUresult result = vramfit::driver::make_current(context);
  if (result == CUDA_SUCCESS) stack.push_back(context);
  return result;
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  VF_NEED_CARD();
  CUcontext current = current_context();
  if (context != nullptr) *context = current;
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (!stack.empty()) stack.pop_back();
  if (!stack.empty()) ledger::set_current_card(stack.back()->card);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* card) {
  VF_NEED(card);
  *card = 0;
  VF_NEED_CARD();
  const CUcontext current = current_context();
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *card = current->card;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned* flags) {
  VF_NEED(flags);
  *flags = 0;
  VF_NEED_CARD();
  const CUcontext current = current_context();
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *flags = current->flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  VF_NEED(id);
  *id = 0;
  VF_NEED_CARD();
  if (context == nullptr) context = current_context();
  if (context == nullptr || !vramfit::driver::is_live(context)) return CUDA_ERROR_INVALID_CONTEXT;
  *id = reinterpret_cast<uintptr_t>(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned* version) {
  VF_NEED(version);
  *version = 0;
  if (context != nullptr && !vramfit::driver::is_live(context)) return CUDA_ERROR_INVALID_CONTEXT;
  *version = 3020;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
  VF_NEED_CARD();
  if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return answer(device::synchronize_card(current_context()->card));
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = device::kLeastPriority;
  if (greatest != nullptr) *greatest = device::kGreatestPriority;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  VF_NEED(value);
  *value = 0;
  if (limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  *value = vramfit::driver::limits[limit];
  return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  VF_NEED_CARD();
  if (limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  vramfit::driver::limits[limit] = value;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  VF_NEED(config);
  *config = CU_FUNC_CACHE_PREFER_NONE;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache) { return CUDA_SUCCESS; }

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned) {
  VF_NEED_CARD();
  if (peer == nullptr || !vramfit::driver::is_live(peer)) return CUDA_ERROR_INVALID_CONTEXT;
  const int card = ledger::current_card();
  if (peer->card == card) return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard guard(vramfit::driver::contexts().lock);
  const bool is_new = vramfit::driver::contexts().peers.emplace(card, peer->card).second;
  return is_new ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  VF_NEED_CARD();
  if (peer == nullptr || !vramfit::driver::is_live(peer)) return CUDA_ERROR_INVALID_CONTEXT;
  const std::lock_guard guard(vramfit::driver::contexts().lock);
  const size_t removed = vramfit::driver::contexts().peers.erase({ledger::current_card(), peer->card});
  return removed == 1 ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
