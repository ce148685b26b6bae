#include "virtual_gpu/device/kernel_arguments.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <vector>

namespace vramfit::device {
namespace {

constexpr unsigned kMostTensors = 8;

// The parameters between the last parentheses of a function's name; commas within <>, () and {} are not between them.
std::vector<std::string_view> parameters_of(std::string_view name) {
  std::vector<std::string_view> parameters;
  size_t end = name.rfind(')');
  if (end == std::string_view::npos) return parameters;
  int depth = 0;
  for (size_t at = end; at-- > 0;) {
    const char c = name[at];
    if (c == ')' || c == '>' || c == '}') ++depth;
    if (c == '<' || c == '{') --depth;
    const bool is_first = c == '(' && depth-- == 0;
    if (!is_first && (c != ',' || depth != 0)) continue;
    if (at + 1 < end) parameters.push_back(name.substr(at + 1, end - at - 1));
    if (is_first) break;
    end = at;
  }
  std::ranges::reverse(parameters);
  return parameters;
}

// "int", "unsigned long": a type of C's own that is no pointer. All others may have a member that is an address.
bool is_number(std::string_view type) { return type.find_first_of("*&:<{(") == std::string_view::npos; }

void set_parameters(std::string_view name, KernelForm& form) {
  const std::vector<std::string_view> parameters = parameters_of(name);
  form.parameters = static_cast<unsigned>(parameters.size());
  for (size_t i = 0; i < std::min<size_t>(parameters.size(), 64); ++i) {
    if (is_number(parameters[i])) form.numbers |= uint64_t{1} << i;
  }
}

unsigned number_after(std::string_view text, std::string_view word) {
  const size_t found = text.find(word);
  if (found == std::string_view::npos) return 0;
  return static_cast<unsigned>(std::strtoul(std::string_view(text.substr(found + word.size())).data(), nullptr, 10));
}

unsigned bytes_of_first_type(std::string_view text) {
  struct Type {
    std::string_view name;
    unsigned bytes;
  };
  constexpr Type kTypes[] = {{"c10::Half", 2}, {"c10::BFloat16", 2}, {"float", 4}, {"double", 8},
                             {"bool", 1},      {"long", 8},          {"int", 4}};
  size_t first = std::string_view::npos;
  unsigned bytes = 4;
  for (const Type& type : kTypes) {
    const size_t found = text.find(type.name);
    if (found >= first) continue;
    first = found;
    bytes = type.bytes;
  }
  return bytes;
}

uintptr_t find_stack_end() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* low = nullptr;
  size_t bytes = 0;
  const bool is_known = pthread_attr_getstack(&attributes, &low, &bytes) == 0;
  pthread_attr_destroy(&attributes);
  return is_known ? reinterpret_cast<uintptr_t>(low) + bytes : 0;
}

// The compiler's own calls give arguments that lie on the caller's stack. What lies between here and the stack's end is
// there whatever it means: nothing else is read, so a layout that is another one than was thought can't end a job.
bool is_on_stack(const void* from, size_t bytes) {
  thread_local const uintptr_t kEnd = find_stack_end();
  const auto begin = reinterpret_cast<uintptr_t>(from), here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return begin >= here && begin < kEnd && bytes <= kEnd - begin;
}

template <typename Value>
Value value_at(const void* from, size_t offset = 0) {
  Value value{};
  const char* place = static_cast<const char*>(from) + offset;
  if (is_on_stack(place, sizeof value)) std::memcpy(&value, place, sizeof value);
  return value;
}

void add_pointers(const void* from, unsigned count, Touched& touched) {
  for (unsigned i = 0; i < count && touched.count < touched.pointers.size(); ++i) {
    const auto pointer = value_at<uint64_t>(from, i * sizeof(uint64_t));
    if (pointer != 0) touched.pointers[touched.count++] = pointer;
  }
}

bool looks_like_address(uint64_t value) { return value >= (uint64_t{1} << 20) && value < (uint64_t{1} << 48); }

// A lambda that holds an OffsetCalculator<n> (ATen/cuda/detail/OffsetCalculator.cuh: an int, 25 dividers of 12 bytes,
// 25 x n strides of 4) and then the n pointers.
unsigned find_strided_pointers(const void* closure, size_t& offset) {
  for (unsigned tensors = kMostTensors; tensors >= 1; --tensors) {
    offset = (4 + 25 * 12 + size_t{25} * tensors * 4 + 7) / 8 * 8;
    bool all = true;
    for (unsigned i = 0; i < tensors && all; ++i) {
      const auto value = value_at<uint64_t>(closure, offset + i * 8);
      all = looks_like_address(value) && value % 2 == 0;
    }
    if (all && tensors <= 4) return tensors;
  }
  return 0;
}

// ATen/native/cuda/MultiTensorApply.cuh: addresses[depth][tensors], numels[tensors], what else there is of each tensor,
// then for each block its tensor and its chunk. Releases that use 32 KiB of arguments have lists seven times as long
// and indices of two bytes, under the same name: it is the layout in which every block is a chunk of its tensor. 0:
// neither.
template <typename Index>
int64_t count_elements_in(const KernelForm& form, const void* list, unsigned blocks, unsigned times) {
  constexpr unsigned kTensors[] = {110, 64, 48, 36, 30};
  constexpr int64_t kChunk = 65536;
  const unsigned most = kTensors[form.tensors - 1] * times, most_blocks = 320 * times;
  if (blocks > most_blocks) return 0;
  const size_t numels = size_t{form.tensors} * most * 8, tensor_of = numels + size_t{most} * (8 + form.list_bytes);
  const size_t chunk_of = tensor_of + most_blocks * sizeof(Index);
  int64_t elements = 0;
  for (unsigned block = 0; block < blocks; ++block) {
    const unsigned tensor = value_at<Index>(list, tensor_of + block * sizeof(Index));
    const int64_t chunk = value_at<int32_t>(list, chunk_of + block * 4);
    if (tensor >= most || chunk < 0) return 0;
    const int64_t left = value_at<int64_t>(list, numels + tensor * 8) - chunk * kChunk;
    if (left <= 0 || left > int64_t{1} << 40) return 0;
    elements += std::min(left, kChunk);
  }
  return elements;
}

int64_t count_multi_tensor_elements(const KernelForm& form, const void* list, unsigned blocks) {
  if (form.tensors < 1 || form.tensors > 5 || blocks == 0) return 0;
  const int64_t elements = count_elements_in<uint8_t>(form, list, blocks, 1);
  return elements > 0 ? elements : count_elements_in<uint16_t>(form, list, blocks, 7);
}

// Flash_fwd_params of flash_attn/flash.h, which the backward's begin with: three pointers, nine strides, two numbers of
// heads; then o and its strides, and b, seqlen_q, seqlen_k, seqlen_knew, d from byte 176 on.
void set_attention(const KernelForm& form, const void* parameters, Touched& touched) {
  const int64_t heads = value_at<int32_t>(parameters, 96), samples = value_at<int32_t>(parameters, 176);
  const int64_t queries = value_at<int32_t>(parameters, 180), keys = value_at<int32_t>(parameters, 184);
  const int64_t width = value_at<int32_t>(parameters, 192);
  const auto within = [](int64_t value, int64_t most) { return value > 0 && value <= most; };
  if (!within(heads, 4096) || !within(samples, 1 << 20) || !within(queries, 1 << 22) || !within(keys, 1 << 22)) return;
  if (!within(width, 512)) return;
  touched.rows = queries, touched.columns = keys, touched.batch = heads * samples;
  touched.multiply_adds = touched.batch * queries * keys * width * form.products / (form.causal ? 2 : 1);
  touched.bytes = touched.batch * (queries + keys) * width * 2 * form.element_bytes;
}

void add_strided(void* const* arguments, Touched& touched) {
  size_t offset = 0;
  const unsigned tensors = find_strided_pointers(arguments[1], offset);
  add_pointers(static_cast<const char*>(arguments[1]) + offset, tensors, touched);
}

// A ReduceOp is one argument with pointers behind its two OffsetCalculators: whatever in it is the address of a block.
void add_reduction(void* const* arguments, Touched& touched) {
  constexpr size_t kFrom = 904, kTo = 1080;
  for (size_t offset = kFrom; offset < kTo; offset += 8) {
    if (looks_like_address(value_at<uint64_t>(arguments[0], offset))) {
      add_pointers(static_cast<const char*>(arguments[0]) + offset, 1, touched);
    }
  }
}

void set_lists(std::string_view name, KernelForm& form) {
  constexpr std::string_view kScalars = "TensorListScalarListMetadata<float, ";
  form.tensors = std::max(number_after(name, "TensorListMetadata<"), number_after(name, kScalars));
  if (name.contains("FusedOptimizerTensorListMetadata<")) form.list_bytes = 8;
  if (name.contains(kScalars)) form.list_bytes = 4;
  form.element_bytes = bytes_of_first_type(name.substr(std::min(name.find("Functor"), name.size())));
}

}  // namespace

KernelForm form_of(std::string_view name) {
  KernelForm form;
  form.element_bytes = bytes_of_first_type(name);
  set_parameters(name, form);
  if (name.contains("::vectorized_elementwise_kernel<") || name.contains("::unrolled_elementwise_kernel<")) {
    form.tensors = std::max(number_after(name, "array<char*, "), number_after(name, "Array<char*, "));
    form.shape = form.tensors == 0 || form.tensors > kMostTensors ? KernelShape::kUnknown : KernelShape::kElementwise;
    form.goes_one_by_one = name.contains("::unrolled_elementwise_kernel<");
  } else if (name.contains("::elementwise_kernel<")) {
    form.shape = KernelShape::kStrided;
    form.goes_one_by_one = true;
  } else if (name.contains("multi_tensor_apply_kernel<")) {
    set_lists(name, form);
    form.shape = form.tensors == 0 ? KernelShape::kUnknown : KernelShape::kMultiTensor;
  } else if (name.contains("flash_fwd_kernel<") || name.contains("flash_bwd_dq_dk_dv")) {
    form.shape = KernelShape::kAttention;
    form.products = name.contains("flash_fwd_kernel<") ? 2 : 5;
    form.element_bytes = 2;
  } else if (name.contains("::reduce_kernel<")) {
    form.shape = KernelShape::kReduction;
  } else if (form.parameters > 0) {
    form.shape = KernelShape::kPointers;
    form.goes_one_by_one = true;
    form.convolves = name.contains("conv_depthwise2d_forward_kernel") || name.contains("conv_depthwise3d_cuda_kernel");
    form.picks_rows = name.contains("mbedding") || name.contains("ndex") || name.contains("ather");
    // im2col goes sample by sample: a thread writes the elements of a window.
    if (name.contains("im2col") || name.contains("col2im")) form.most_per_thread = 9;
  }
  return form;
}

Touched touched_by(const KernelForm& form, void* const* arguments, unsigned blocks, unsigned threads) {
  Touched touched;
  if (arguments == nullptr || form.shape == KernelShape::kUnknown) return touched;
  // PyTorch's templates have three parameters at most that are looked at.
  const unsigned used = form.shape == KernelShape::kPointers ? form.parameters : std::max(form.parameters, 3u);
  if (!is_on_stack(arguments, used * sizeof(void*))) return touched;
  touched.picks_rows = form.picks_rows;
  if (form.goes_one_by_one) touched.one_by_one_bytes = form.element_bytes;
  switch (form.shape) {
    case KernelShape::kElementwise:
      add_pointers(arguments[2], form.tensors, touched);
      touched.most_each = int64_t{value_at<int32_t>(arguments[0])} * form.element_bytes;
      break;
    case KernelShape::kStrided:
      add_strided(arguments, touched);
      touched.most_each = int64_t{value_at<int32_t>(arguments[0])} * form.element_bytes;
      break;
    case KernelShape::kMultiTensor:
      touched.bytes = count_multi_tensor_elements(form, arguments[0], blocks) * form.tensors * form.element_bytes;
      break;
    case KernelShape::kAttention:
      set_attention(form, arguments[0], touched);
      break;
    case KernelShape::kReduction:
      add_reduction(arguments, touched);
      break;
    default:
      for (unsigned i = 0; i < form.parameters; ++i) {
        if (i >= 64 || (form.numbers >> i & 1) == 0) add_pointers(arguments[i], 1, touched);
      }
      touched.most_each = int64_t{blocks} * threads * form.most_per_thread * form.element_bytes;
  }
  return touched;
}

}  // namespace vramfit::device
