// cuRAND's host interface. PyTorch has generators of its own and only loads the library; other extensions may call it.
#include "virtual_gpu/library/abi.h"
#include "virtual_gpu/library/work.h"

namespace library = vramfit::library;
namespace ledger = vramfit::ledger;

namespace {

enum Status : int { kSuccess = 0, kNotInitialized = 101, kAllocFailed = 102, kOutOfRange = 104 };

struct Generator {
  library::Stream stream = nullptr;
  unsigned long long seed = 0, offset = 0;
};

int generate(Generator* generator, const void* output) {
  if (generator == nullptr) return kNotInitialized;
  if (output == nullptr) return kOutOfRange;
  library::launch(generator->stream);
  return kSuccess;
}

}  // namespace

VF_ABI int curandCreateGenerator(Generator** generator, int) {
  if (generator == nullptr) return kOutOfRange;
  *generator = nullptr;
  if (ledger::state() != ledger::State::kReady) return kNotInitialized;
  if (!ledger::charge_use(ledger::current_card(), ledger::Library::kRandom)) return kAllocFailed;
  *generator = new Generator;
  return kSuccess;
}

VF_ABI int curandDestroyGenerator(Generator* generator) {
  delete generator;
  return kSuccess;
}

VF_ABI int curandSetStream(Generator* generator, library::Stream stream) {
  if (generator == nullptr) return kNotInitialized;
  generator->stream = stream;
  return kSuccess;
}

VF_ABI int curandSetPseudoRandomGeneratorSeed(Generator* generator, unsigned long long seed) {
  if (generator == nullptr) return kNotInitialized;
  generator->seed = seed;
  return kSuccess;
}

VF_ABI int curandSetGeneratorOffset(Generator* generator, unsigned long long offset) {
  if (generator == nullptr) return kNotInitialized;
  generator->offset = offset;
  return kSuccess;
}

VF_ABI int curandGenerate(Generator* generator, unsigned* output, size_t) { return generate(generator, output); }
VF_ABI int curandGenerateUniform(Generator* generator, float* output, size_t) { return generate(generator, output); }
VF_ABI int curandGenerateUniformDouble(Generator* generator, double* output, size_t) {
  return generate(generator, output);
}
VF_ABI int curandGenerateNormal(Generator* generator, float* output, size_t, float, float) {
  return generate(generator, output);
}
VF_ABI int curandGenerateNormalDouble(Generator* generator, double* output, size_t, double, double) {
  return generate(generator, output);
}
