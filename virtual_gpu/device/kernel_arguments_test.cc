#include "virtual_gpu/device/kernel_arguments.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <string>

namespace vramfit::device {
namespace {

constexpr const char* kAdd =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> "
    ">(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)";

TEST(KernelArguments, an_elementwise_kernel_touches_its_elements_of_each_tensor) {
  const KernelForm form = form_of(kAdd);
  EXPECT_EQ(form.shape, KernelShape::kElementwise);
  EXPECT_EQ(form.tensors, 3u);
  int n = 1000;
  char functor = 0;
  uint64_t pointers[3] = {0x10000, 0x20000, 0x30000};
  void* arguments[] = {&n, &functor, pointers};
  const Touched touched = touched_by(form, arguments, 1);
  EXPECT_EQ(touched.count, 3u);
  EXPECT_EQ(touched.pointers[2], 0x30000u);
  EXPECT_EQ(touched.most_each, 4000);
}

TEST(KernelArguments, half_precision_has_half_the_bytes) {
  EXPECT_EQ(form_of("void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::Half>, "
                    "std::array<char*, 2ul> >(int, at::native::CUDAFunctor_add<c10::Half>, std::array<char*, 2ul>)")
                .element_bytes,
            2u);
}

TEST(KernelArguments, of_other_kernels_each_parameter_may_be_a_pointer) {
  const KernelForm form = form_of(
      "void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, false, false>(float*, float const*, "
      "int, int, int, bool const*, int, bool)");
  EXPECT_EQ(form.shape, KernelShape::kPointers);
  EXPECT_EQ(form.parameters, 8u);
}

// Sixteen numbers stand between the first and the last address: PyTorch's pooling has as many.
TEST(KernelArguments, numbers_take_no_place_among_the_addresses) {
  std::string name = "void at::native::max_pool_backward_nhwc<c10::BFloat16, float>(c10::BFloat16 const*, ";
  for (int i = 0; i < 16; ++i) name += i % 2 == 0 ? "int, " : "unsigned long, ";
  const KernelForm form = form_of(name + "c10::BFloat16*)");
  EXPECT_EQ(form.parameters, 18u);
  EXPECT_EQ(form.numbers, uint64_t{0x1fffe});
  uint64_t first = 0x10000000, last = 0x20000000, number = 7;
  void* arguments[18];
  std::ranges::fill(arguments, &number);
  arguments[0] = &first, arguments[17] = &last;
  const Touched touched = touched_by(form, arguments, 1);
  ASSERT_EQ(touched.count, 2u);
  EXPECT_EQ(touched.pointers[1], last);
}

TEST(KernelArguments, what_loads_vectors_is_told_from_what_goes_one_by_one) {
  EXPECT_FALSE(form_of(kAdd).goes_one_by_one);
  EXPECT_TRUE(
      form_of("void at::native::unrolled_elementwise_kernel<F, std::array<char*, 2ul>, 4>(int, F)").goes_one_by_one);
  EXPECT_TRUE(form_of("void at::native::elementwise_kernel<128, 4, F>(int, F)").goes_one_by_one);
  EXPECT_TRUE(form_of("void at::native::roll_cuda_kernel<float>(float const*, float*, long)").goes_one_by_one);
  EXPECT_FALSE(form_of("void at::native::reduce_kernel<512, 1, R>(R)").goes_one_by_one);
}

TEST(KernelArguments, commas_within_a_type_are_not_between_parameters) {
  EXPECT_EQ(form_of("void f<int, float>(A<int, float>, {lambda(int, int)#1}, long)").parameters, 3u);
  EXPECT_EQ(form_of("void f()").parameters, 0u);
}

// PyTorch's own kernels where every channel is convolved by itself in float32: cuDNN is not asked.
TEST(KernelArguments, convolutions_of_pytorchs_own_are_known_in_forward_alone) {
  const std::string_view forward =
      "void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3, float, int>("
      "at::GenericPackedTensorAccessor<float const, 4ul, at::DefaultPtrTraits, int>, "
      "at::GenericPackedTensorAccessor<float, 4ul, at::DefaultPtrTraits, int>, int)";
  EXPECT_TRUE(form_of(forward).convolves);
  EXPECT_TRUE(form_of("void at::native::conv_depthwise3d_cuda_kernel<float, float, 3, 3, 3>(int)").convolves);
  EXPECT_FALSE(form_of("void at::native::conv_depthwise2d_backward_kernel<3, 1, float, int>(int)").convolves);
  EXPECT_FALSE(form_of("void at::native::conv_depthwise2d_grad_weight_kernel<float, unsigned>(int)").convolves);
}

TEST(KernelArguments, what_is_not_on_the_stack_is_not_read) {
  const KernelForm form = form_of("void f<float>(float*, float*)");
  void* arguments[] = {nullptr, reinterpret_cast<void*>(0x10)};
  EXPECT_EQ(touched_by(form, arguments, 1).count, 0u);
}

// A release whose lists are laid out in another way: what would be read lies behind the end of the stack.
TEST(KernelArguments, nothing_is_read_behind_the_end_of_the_stack) {
  pthread_attr_t attributes;
  void* low = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
  ASSERT_EQ(pthread_attr_getstack(&attributes, &low, &bytes), 0);
  pthread_attr_destroy(&attributes);
  char* const end = static_cast<char*>(low) + bytes;
  const KernelForm lists = form_of(
      "void at::native::multi_tensor_apply_kernel<at::native::TensorListMetadata<1>, at::native::Functor<float> >("
      "at::native::TensorListMetadata<1>, at::native::Functor<float>)");
  void* arguments[] = {end - 16, end - 8, end + 64};
  EXPECT_EQ(touched_by(lists, arguments, 300).bytes, 0);
  EXPECT_EQ(touched_by(form_of(kAdd), arguments, 1).pointers[0], 0u);
  EXPECT_EQ(touched_by(lists, reinterpret_cast<void**>(end - 8), 1).bytes, 0) << "the list of arguments itself";
}

TEST(KernelArguments, a_list_of_tensors_counts_the_elements_of_its_blocks) {
  const KernelForm form = form_of(
      "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
      "namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::BinaryOpListAlphaFunctor<float, 2, 2, 0>, "
      "std::plus<float>, float>(at::native::(anonymous namespace)::TensorListMetadata<2>, "
      "at::native::(anonymous namespace)::BinaryOpListAlphaFunctor<float, 2, 2, 0>, std::plus<float>, float)");
  EXPECT_EQ(form.shape, KernelShape::kMultiTensor);
  struct List {
    void* addresses[2][64];
    int64_t numels[64];
    unsigned char tensor_of[320];
    int chunk_of[320];
  } list = {};
  list.numels[0] = 100000, list.numels[1] = 7;
  list.chunk_of[1] = 1, list.tensor_of[2] = 1;  // two blocks of the first tensor, one of the second
  char rest = 0;
  void* arguments[] = {&list, &rest, &rest, &rest};
  EXPECT_EQ(touched_by(form, arguments, 3).bytes, (100000 + 7) * 2 * 4);
}

TEST(KernelArguments, attention_is_two_products_of_its_parameters) {
  KernelForm form = form_of("void pytorch_flash::flash_fwd_kernel<T>(pytorch_flash::Flash_fwd_params)");
  int parameters[128] = {};
  parameters[24] = 12, parameters[44] = 8, parameters[45] = parameters[46] = 197, parameters[48] = 64;
  void* arguments[] = {parameters};
  EXPECT_EQ(touched_by(form, arguments, 1).multiply_adds, int64_t{2} * 8 * 12 * 197 * 197 * 64);
}

}  // namespace
}  // namespace vramfit::device
