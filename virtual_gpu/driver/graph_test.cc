// Graphs made by hand, as XLA makes them, through the driver's public interface.
#include <cuda.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "virtual_gpu/testing/driver_context.h"

namespace {

class DriverGraphs : public vramfit::testing::DriverContext {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(DriverContext::SetUp());
    ASSERT_EQ(cuGraphCreate(&graph_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleLoadData(&module_, ".version 8.0\n.target sm_50\n.address_size 64\n"), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&function_, module_, "scale"), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuGraphDestroy(graph_), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleUnload(module_), CUDA_SUCCESS);
  }

  // A copy between host buffers, which shows whether, and with what, a launch did its work.
  static CUDA_MEMCPY3D copy_of(const std::array<int, 4>& from, std::array<int, 4>& to) {
    CUDA_MEMCPY3D copy = {};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = from.data();
    copy.dstHost = to.data();
    copy.WidthInBytes = sizeof from;
    copy.Height = copy.Depth = 1;
    return copy;
  }
  CUgraphExec executable() {
    CUgraphExec made = nullptr;
    EXPECT_EQ(cuGraphInstantiate(&made, graph_, 0), CUDA_SUCCESS);
    return made;
  }

  CUDA_KERNEL_NODE_PARAMS kernel_of(CUfunction function) const {
    CUDA_KERNEL_NODE_PARAMS params = {};
    params.func = function;
    params.gridDimX = 3, params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = 64, params.blockDimY = params.blockDimZ = 1;
    return params;
  }

  CUgraph graph_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  std::array<int, 4> first_{1, 2, 3, 4}, second_{5, 6, 7, 8}, to_{};
};

TEST_F(DriverGraphs, a_launch_does_the_copies_of_its_nodes) {
  const CUDA_MEMCPY3D copy = copy_of(first_, to_);
  CUgraphNode node = nullptr;
  ASSERT_EQ(cuGraphAddMemcpyNode(&node, graph_, nullptr, 0, &copy, nullptr), CUDA_SUCCESS);
  const CUgraphExec run = executable();
  EXPECT_EQ(to_, (std::array<int, 4>{}));
  ASSERT_EQ(cuGraphLaunch(run, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(to_, first_);

  const CUDA_MEMCPY3D other = copy_of(second_, to_);
  ASSERT_EQ(cuGraphExecMemcpyNodeSetParams(run, node, &other, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphLaunch(run, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(to_, second_);
  EXPECT_EQ(cuGraphExecDestroy(run), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(run, nullptr), CUDA_ERROR_INVALID_VALUE) << "it is gone";
}

TEST_F(DriverGraphs, a_node_of_any_kind_is_what_its_parameters_say) {
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  params.memcpy.copyParams = copy_of(first_, to_);
  CUgraphNode copy = nullptr, empty = nullptr;
  ASSERT_EQ(cuGraphAddNode(&copy, graph_, nullptr, nullptr, 0, &params), CUDA_SUCCESS);
  CUgraphNodeParams nothing = {};
  nothing.type = CU_GRAPH_NODE_TYPE_EMPTY;
  ASSERT_EQ(cuGraphAddNode(&empty, graph_, &copy, nullptr, 1, &nothing), CUDA_SUCCESS);
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL;
  ASSERT_EQ(cuGraphNodeGetType(copy, &type), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEMCPY);
  CUgraphNode need = nullptr;
  size_t count = 1;
  ASSERT_EQ(cuGraphNodeGetDependencies(empty, &need, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(need, copy);

  const CUgraphExec run = executable();
  params.memcpy.copyParams = copy_of(second_, to_);
  ASSERT_EQ(cuGraphExecNodeSetParams(run, copy, &params), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecNodeSetParams(run, copy, &nothing), CUDA_ERROR_INVALID_VALUE) << "a node keeps its kind";
  ASSERT_EQ(cuGraphLaunch(run, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(to_, second_);
  EXPECT_EQ(cuGraphExecDestroy(run), CUDA_SUCCESS);
}

TEST_F(DriverGraphs, a_kernels_parameters_can_be_read_and_set_in_graphs_and_in_executables) {
  CUDA_KERNEL_NODE_PARAMS params = kernel_of(function_);
  CUgraphNode kernel = nullptr, empty = nullptr;
  ASSERT_EQ(cuGraphAddKernelNode(&kernel, graph_, nullptr, 0, &params), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphAddEmptyNode(&empty, graph_, nullptr, 0), CUDA_SUCCESS);
  params.gridDimX = 5;
  ASSERT_EQ(cuGraphKernelNodeSetParams(kernel, &params), CUDA_SUCCESS);
  CUDA_KERNEL_NODE_PARAMS read = {};
  ASSERT_EQ(cuGraphKernelNodeGetParams(kernel, &read), CUDA_SUCCESS);
  EXPECT_EQ(read.gridDimX, 5u);
  EXPECT_EQ(read.blockDimX, 64u);
  EXPECT_EQ(read.func, params.func);
  EXPECT_EQ(cuGraphKernelNodeGetParams(empty, &read), CUDA_ERROR_INVALID_VALUE);
  CUkernelNodeAttrValue priority = {};
  EXPECT_EQ(cuGraphKernelNodeSetAttribute(kernel, CU_LAUNCH_ATTRIBUTE_PRIORITY, &priority), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphKernelNodeSetAttribute(empty, CU_LAUNCH_ATTRIBUTE_PRIORITY, &priority), CUDA_ERROR_INVALID_VALUE);
  const CUgraphExec run = executable();
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(run, kernel, &params), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(run, empty, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphLaunch(run, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecDestroy(run), CUDA_SUCCESS);
}

TEST_F(DriverGraphs, a_card_without_room_for_the_kernels_of_a_graph_makes_no_executable) {
  const CUDA_KERNEL_NODE_PARAMS params = kernel_of(function_);
  CUgraphNode node = nullptr;
  for (int i = 0; i < 1024; ++i) {  // some 10 MiB
    ASSERT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &params), CUDA_SUCCESS);
  }
  size_t free_bytes = 0, total_bytes = 0;
  ASSERT_EQ(cuMemGetInfo(&free_bytes, &total_bytes), CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAlloc(&memory, free_bytes & ~((size_t{2} << 20) - 1)), CUDA_SUCCESS);
  CUgraphExec run = nullptr;
  EXPECT_EQ(cuGraphInstantiate(&run, graph_, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(run, nullptr);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(DriverGraphs, copies_and_fills_take_new_parameters) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAlloc(&memory, 4096), CUDA_SUCCESS);
  CUDA_MEMSET_NODE_PARAMS fill = {};
  fill.dst = memory;
  fill.elementSize = 4, fill.width = 4, fill.height = 1, fill.value = 7;
  CUDA_MEMCPY3D copy = copy_of(first_, to_);
  CUgraphNode fills = nullptr, copies = nullptr;
  ASSERT_EQ(cuGraphAddMemsetNode(&fills, graph_, nullptr, 0, &fill, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphAddMemcpyNode(&copies, graph_, nullptr, 0, &copy, nullptr), CUDA_SUCCESS);
  copy = copy_of(second_, to_);
  ASSERT_EQ(cuGraphMemcpyNodeSetParams(copies, &copy), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphMemcpyNodeSetParams(fills, &copy), CUDA_ERROR_INVALID_VALUE) << "a node keeps its kind";
  fill.width = 8;
  ASSERT_EQ(cuGraphMemsetNodeSetParams(fills, &fill), CUDA_SUCCESS);
  CUgraphNodeParams any = {};
  any.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  any.memcpy.copyParams = copy;
  ASSERT_EQ(cuGraphNodeSetParams(copies, &any), CUDA_SUCCESS);
  const CUgraphExec run = executable();
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(run, fills, &fill, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphLaunch(run, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(to_, second_);
  EXPECT_EQ(cuGraphExecDestroy(run), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(DriverGraphs, a_kernel_of_nobodys_function_is_refused) {
  int stranger = 0;
  const CUDA_KERNEL_NODE_PARAMS nobodys = kernel_of(reinterpret_cast<CUfunction>(&stranger));
  const CUDA_KERNEL_NODE_PARAMS known = kernel_of(function_);
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &nobodys), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(node, nullptr);
  ASSERT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &known), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphKernelNodeSetParams(node, &nobodys), CUDA_ERROR_INVALID_VALUE);
  const CUgraphExec run = executable();
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(run, node, &nobodys), CUDA_ERROR_INVALID_VALUE);
  CUgraphNodeParams any = {};
  any.type = CU_GRAPH_NODE_TYPE_KERNEL;
  any.kernel.func = reinterpret_cast<CUfunction>(&stranger);
  EXPECT_EQ(cuGraphNodeSetParams(node, &any), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddNode(&node, graph_, nullptr, nullptr, 0, &any), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphExecDestroy(run), CUDA_SUCCESS);
}

TEST_F(DriverGraphs, nodes_of_events_are_of_events_that_are_there) {
  int stranger = 0;
  auto* const nobodys = reinterpret_cast<CUevent>(&stranger);
  CUevent event = nullptr, other = nullptr;
  ASSERT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&other, 0), CUDA_SUCCESS);
  CUgraphNode record = nullptr, wait = nullptr, none = nullptr;
  ASSERT_EQ(cuGraphAddEventRecordNode(&record, graph_, nullptr, 0, event), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphAddEventWaitNode(&wait, graph_, &record, 1, event), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphAddEventRecordNode(&none, graph_, nullptr, 0, nobodys), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddEventWaitNode(&none, graph_, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
  params.eventWait.event = other;
  EXPECT_EQ(cuGraphNodeSetParams(wait, &params), CUDA_SUCCESS);
  ASSERT_EQ(cuEventDestroy(other), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphNodeSetParams(wait, &params), CUDA_ERROR_INVALID_VALUE) << "it is gone";
  EXPECT_EQ(cuGraphAddNode(&none, graph_, nullptr, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(none, nullptr);
  size_t count = 0;
  ASSERT_EQ(cuGraphGetNodes(graph_, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
}

TEST_F(DriverGraphs, a_condition_is_refused_and_named) {
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddNode(&node, graph_, nullptr, nullptr, 0, &params), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(node, nullptr);
}

TEST_F(DriverGraphs, the_copies_of_a_child_take_new_parameters_from_a_graph_of_its_shape) {
  CUgraph child = nullptr, other = nullptr, longer = nullptr;
  CUgraphNode node = nullptr, in_parent = nullptr;
  for (auto [graph, from] : {std::pair(&child, &first_), std::pair(&other, &second_), std::pair(&longer, &second_)}) {
    ASSERT_EQ(cuGraphCreate(graph, 0), CUDA_SUCCESS);
    const CUDA_MEMCPY3D copy = copy_of(*from, to_);
    ASSERT_EQ(cuGraphAddMemcpyNode(&node, *graph, nullptr, 0, &copy, nullptr), CUDA_SUCCESS);
  }
  ASSERT_EQ(cuGraphAddEmptyNode(&node, longer, nullptr, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphAddChildGraphNode(&in_parent, graph_, nullptr, 0, child), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphAddChildGraphNode(&node, graph_, nullptr, 0, graph_), CUDA_ERROR_INVALID_VALUE);
  CUgraph copied = nullptr;
  ASSERT_EQ(cuGraphChildGraphNodeGetGraph(in_parent, &copied), CUDA_SUCCESS);
  EXPECT_TRUE(copied != nullptr && copied != child) << "a child is a copy";
  const CUgraphExec run = executable();
  ASSERT_EQ(cuGraphExecChildGraphNodeSetParams(run, in_parent, other), CUDA_SUCCESS);
  EXPECT_NE(cuGraphExecChildGraphNodeSetParams(run, in_parent, longer), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphLaunch(run, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(to_, second_);
  EXPECT_EQ(cuGraphExecDestroy(run), CUDA_SUCCESS);
  for (CUgraph graph : {child, other, longer}) EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(DriverGraphs, what_a_stream_is_given_while_it_is_captured_becomes_nodes) {
  CUstream stream = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAlloc(&memory, 1024), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD8Async(memory, 7, 1024, stream), CUDA_SUCCESS);
  CUgraph captured = nullptr;
  ASSERT_EQ(cuStreamEndCapture(stream, &captured), CUDA_SUCCESS);
  size_t count = 0;
  ASSERT_EQ(cuGraphGetNodes(captured, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(cuGraphDestroy(captured), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

}  // namespace
