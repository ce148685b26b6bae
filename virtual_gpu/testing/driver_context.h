// A test through the driver's public interface, with a context of the first card.
#ifndef VRAMFIT_VIRTUAL_GPU_TESTING_DRIVER_CONTEXT_H
#define VRAMFIT_VIRTUAL_GPU_TESTING_DRIVER_CONTEXT_H

#include <cuda.h>
#include <gtest/gtest.h>

namespace vramfit::testing {

class DriverContext : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    CUcontext context = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  }
};

}  // namespace vramfit::testing

#endif
