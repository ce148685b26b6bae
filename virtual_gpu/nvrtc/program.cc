// Runtime compilation: programs are kept, nothing is compiled. What comes out is a PTX text that names the kernels, so
// that the driver's module loader can find them. Enum values from the NVRTC 13 documentation.
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "cuda_facts.h"
#include "virtual_gpu/library/abi.h"

namespace vramfit::nvrtc {
namespace {

enum Result : int { kSuccess = 0, kInvalidInput = 3, kInvalidProgram = 4, kNameNotValid = 10 };

struct Program {
  std::string source;
  bool compiled = false;
  std::map<std::string, std::string> lowered;  // name expression -> name in the PTX
  std::string ptx;
};

// A name expression such as "f<float, 4>" becomes a valid identifier that is unique in its program.
std::string lower(const std::string& expression, size_t number) {
  std::string name = "_Z";
  for (const char c : expression) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    name += letter ? c : '_';
  }
  return name + "_" + std::to_string(number);
}

void write_ptx(Program& program) {
  program.ptx = ".version 8.0\n.target sm_50\n.address_size 64\n";
  for (const auto& [expression, name] : program.lowered) program.ptx += ".visible .entry " + name + "() { ret; }\n";
}

int copy_out(const Program* program, char* out) {
  if (program == nullptr || !program->compiled) return kInvalidProgram;
  if (out == nullptr) return kInvalidInput;
  std::memcpy(out, program->ptx.c_str(), program->ptx.size() + 1);
  return kSuccess;
}

int size_out(const Program* program, size_t* bytes) {
  if (bytes == nullptr) return kInvalidInput;
  *bytes = 0;
  if (program == nullptr || !program->compiled) return kInvalidProgram;
  *bytes = program->ptx.size() + 1;  // with the closing zero, as documented
  return kSuccess;
}

}  // namespace
}  // namespace vramfit::nvrtc

using vramfit::nvrtc::Program;
namespace nvrtc = vramfit::nvrtc;

VF_ABI int nvrtcVersion(int* major, int* minor) {
  if (major == nullptr || minor == nullptr) return nvrtc::kInvalidInput;
  *major = vramfit::cuda::kNvrtc[0];
  *minor = vramfit::cuda::kNvrtc[1];
  return nvrtc::kSuccess;
}

VF_ABI const char* nvrtcGetErrorString(int result) {
  switch (result) {
    case nvrtc::kSuccess:
      return "NVRTC_SUCCESS";
    case nvrtc::kInvalidInput:
      return "NVRTC_ERROR_INVALID_INPUT";
    case nvrtc::kInvalidProgram:
      return "NVRTC_ERROR_INVALID_PROGRAM";
    case nvrtc::kNameNotValid:
      return "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID";
    default:
      return "NVRTC_ERROR unknown";
  }
}

VF_ABI int nvrtcCreateProgram(Program** out, const char* source, const char*, int, const char* const*,
                              const char* const*) {
  if (out == nullptr) return nvrtc::kInvalidInput;
  *out = nullptr;
  if (source == nullptr) return nvrtc::kInvalidInput;
  *out = new Program;
  (*out)->source = source;
  return nvrtc::kSuccess;
}

VF_ABI int nvrtcDestroyProgram(Program** program) {
  if (program == nullptr || *program == nullptr) return nvrtc::kInvalidProgram;
  delete *program;
  *program = nullptr;
  return nvrtc::kSuccess;
}

VF_ABI int nvrtcAddNameExpression(Program* program, const char* expression) {
  if (program == nullptr) return nvrtc::kInvalidProgram;
  if (expression == nullptr) return nvrtc::kInvalidInput;
  program->lowered.emplace(expression, nvrtc::lower(expression, program->lowered.size()));
  return nvrtc::kSuccess;
}

VF_ABI int nvrtcCompileProgram(Program* program, int, const char* const*) {
  if (program == nullptr) return nvrtc::kInvalidProgram;
  nvrtc::write_ptx(*program);
  program->compiled = true;
  return nvrtc::kSuccess;
}

VF_ABI int nvrtcGetLoweredName(Program* program, const char* expression, const char** name) {
  if (name == nullptr || expression == nullptr) return nvrtc::kInvalidInput;
  *name = nullptr;
  if (program == nullptr || !program->compiled) return nvrtc::kInvalidProgram;
  const auto found = program->lowered.find(expression);
  if (found == program->lowered.end()) return nvrtc::kNameNotValid;
  *name = found->second.c_str();
  return nvrtc::kSuccess;
}

VF_ABI int nvrtcGetPTXSize(Program* program, size_t* bytes) { return nvrtc::size_out(program, bytes); }
VF_ABI int nvrtcGetPTX(Program* program, char* ptx) { return nvrtc::copy_out(program, ptx); }
// A cubin would hold machine code; the same text stands for it, and the module loader takes both.
VF_ABI int nvrtcGetCUBINSize(Program* program, size_t* bytes) { return nvrtc::size_out(program, bytes); }
VF_ABI int nvrtcGetCUBIN(Program* program, char* cubin) { return nvrtc::copy_out(program, cubin); }

VF_ABI int nvrtcGetProgramLogSize(Program* program, size_t* bytes) {
  if (bytes == nullptr) return nvrtc::kInvalidInput;
  *bytes = 1;  // an empty log is one zero byte
  return program == nullptr ? nvrtc::kInvalidProgram : nvrtc::kSuccess;
}

VF_ABI int nvrtcGetProgramLog(Program* program, char* log) {
  if (log == nullptr) return nvrtc::kInvalidInput;
  *log = '\0';
  return program == nullptr ? nvrtc::kInvalidProgram : nvrtc::kSuccess;
}
