// Graphs made by hand, through the runtime's public interface.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

#include "virtual_gpu/testing/card_fixture.h"

namespace {

using vramfit::testing::CardEnvironment;

const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new CardEnvironment);

void kernel() {}

class Graphs : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaGraphCreate(&graph_, 0), cudaSuccess);
    ASSERT_EQ(cudaGraphCreate(&other_, 0), cudaSuccess);
  }
  void TearDown() override {
    cudaGraphDestroy(graph_);
    if (other_ != nullptr) cudaGraphDestroy(other_);
  }
  cudaGraphNode_t empty_node(cudaGraph_t graph) {
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddEmptyNode(&node, graph, nullptr, 0), cudaSuccess);
    return node;
  }
  static size_t count(cudaGraph_t graph) {
    size_t found = 77;
    EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &found), cudaSuccess);
    return found;
  }
  static cudaKernelNodeParams grid_of(unsigned blocks) {
    cudaKernelNodeParams params = {};
    params.func = reinterpret_cast<void*>(&kernel);
    params.gridDim = dim3(blocks);
    params.blockDim = dim3(32);
    return params;
  }
  cudaGraph_t graph_ = nullptr, other_ = nullptr;
};

TEST_F(Graphs, a_node_needs_only_nodes_of_its_own_graph) {
  const cudaGraphNode_t foreign = empty_node(other_);
  cudaGraphNode_t node = nullptr;
  EXPECT_EQ(cudaGraphAddEmptyNode(&node, graph_, &foreign, 1), cudaErrorInvalidValue);
  EXPECT_EQ(node, nullptr);
  EXPECT_EQ(count(graph_), 0u);
}

TEST_F(Graphs, a_node_that_is_gone_is_an_error_everywhere) {
  const cudaGraphNode_t node = empty_node(other_);
  ASSERT_EQ(cudaGraphDestroy(other_), cudaSuccess);
  other_ = nullptr;
  cudaGraphNodeType type;
  EXPECT_EQ(cudaGraphNodeGetType(node, &type), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphDestroyNode(node), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphNodeGetType(nullptr, &type), cudaErrorInvalidValue);
}

TEST_F(Graphs, a_list_longer_than_the_graph_is_filled_with_nulls) {
  const cudaGraphNode_t node = empty_node(graph_);
  std::array<cudaGraphNode_t, 3> nodes = {node, node, node};
  size_t room = nodes.size();
  ASSERT_EQ(cudaGraphGetNodes(graph_, nodes.data(), &room), cudaSuccess);
  EXPECT_EQ(room, 1u);
  EXPECT_EQ(nodes, (std::array<cudaGraphNode_t, 3>{node, nullptr, nullptr}));
}

TEST_F(Graphs, a_child_is_a_copy_and_a_graph_cannot_be_its_own) {
  empty_node(other_);
  cudaGraphNode_t node = nullptr;
  EXPECT_EQ(cudaGraphAddChildGraphNode(&node, graph_, nullptr, 0, graph_), cudaErrorInvalidValue);
  ASSERT_EQ(cudaGraphAddChildGraphNode(&node, graph_, nullptr, 0, other_), cudaSuccess);
  cudaGraph_t child = nullptr;
  ASSERT_EQ(cudaGraphChildGraphNodeGetGraph(node, &child), cudaSuccess);
  EXPECT_NE(child, other_);
  EXPECT_EQ(count(child), 1u);
  EXPECT_EQ(cudaGraphChildGraphNodeGetGraph(empty_node(graph_), &child), cudaErrorInvalidValue);
  EXPECT_EQ(child, nullptr);
}

TEST_F(Graphs, parameters_of_a_kernel_can_be_read_and_changed) {
  const cudaKernelNodeParams first = grid_of(3);
  cudaGraphNode_t node = nullptr;
  ASSERT_EQ(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, &first), cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&executable, graph_, 0), cudaSuccess);
  cudaKernelNodeParams params = grid_of(5);
  EXPECT_EQ(cudaGraphExecKernelNodeSetParams(executable, node, &params), cudaSuccess);
  EXPECT_EQ(cudaGraphExecKernelNodeSetParams(executable, empty_node(graph_), &params), cudaErrorInvalidValue);
  ASSERT_EQ(cudaGraphKernelNodeGetParams(node, &params), cudaSuccess);
  EXPECT_EQ(params.gridDim.x, 3u);  // the executable has its own
  EXPECT_EQ(params.func, first.func);
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
}

TEST_F(Graphs, nodes_of_nobodys_events_and_of_no_kernel_are_refused) {
  int stranger = 0;
  auto* const nobodys = reinterpret_cast<cudaEvent_t>(&stranger);
  cudaGraphNode_t node = nullptr;
  EXPECT_EQ(cudaGraphAddEventRecordNode(&node, graph_, nullptr, 0, nobodys), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddEventWaitNode(&node, graph_, nullptr, 0, nobodys), cudaErrorInvalidValue);
  cudaKernelNodeParams params = grid_of(1);
  EXPECT_EQ(cudaGraphKernelNodeSetParams(empty_node(graph_), &params), cudaErrorInvalidValue);
  params.func = nullptr;
  EXPECT_EQ(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, &params), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(node, nullptr);
  EXPECT_EQ(count(graph_), 1u);

  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  EXPECT_EQ(cudaGraphAddEventRecordNode(&node, graph_, nullptr, 0, event), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaGraphAddEventWaitNode(&node, graph_, nullptr, 0, event), cudaErrorInvalidValue) << "it is gone";
}

// What the process holds of the card, as cudaMemGetInfo tells it.
size_t held_on_card() {
  size_t free = 0, total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  return total - free;
}

TEST_F(Graphs, an_executable_holds_device_memory_for_each_kernel_until_it_is_destroyed) {
  cudaGraphNode_t node = nullptr;
  const cudaKernelNodeParams params = grid_of(1);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, &params), cudaSuccess);
  empty_node(graph_);
  const size_t before = held_on_card();
  cudaGraphExec_t first = nullptr, second = nullptr;
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&first, graph_, 0), cudaSuccess);
  EXPECT_EQ(held_on_card() - before, size_t{3} * 10 * 1024);
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&second, graph_, 0), cudaSuccess);
  EXPECT_EQ(held_on_card() - before, size_t{6} * 10 * 1024) << "each executable has its own";
  EXPECT_EQ(cudaGraphExecDestroy(first), cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(second), cudaSuccess);
  EXPECT_EQ(held_on_card(), before);
}

TEST_F(Graphs, an_executable_for_which_the_card_has_no_room_is_not_made) {
  cudaGraphNode_t node = nullptr;
  const cudaKernelNodeParams params = grid_of(1);
  ASSERT_EQ(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, &params), cudaSuccess);
  size_t free = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  vf_card_use& use = CardEnvironment::ledger().use[0];
  use.used_bytes += static_cast<int64_t>(free) - 4096;  // another process's
  cudaGraphExec_t executable = nullptr;
  EXPECT_EQ(cudaGraphInstantiateWithFlags(&executable, graph_, 0), cudaErrorMemoryAllocation);
  EXPECT_EQ(executable, nullptr);
  use.used_bytes -= static_cast<int64_t>(free) - 4096;
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
}

TEST_F(Graphs, an_object_is_destroyed_with_the_last_reference) {
  static int destroyed = 0;
  cudaUserObject_t object = nullptr;
  ASSERT_EQ(
      cudaUserObjectCreate(
          &object, &destroyed, [](void* count) { ++*static_cast<int*>(count); }, 1, cudaUserObjectNoDestructorSync),
      cudaSuccess);
  ASSERT_EQ(cudaGraphRetainUserObject(graph_, object, 1, 0), cudaSuccess);
  ASSERT_EQ(cudaUserObjectRelease(object, 1), cudaSuccess);
  EXPECT_EQ(destroyed, 0);
  ASSERT_EQ(cudaGraphReleaseUserObject(graph_, object, 1), cudaSuccess);
  EXPECT_EQ(destroyed, 1);
}

TEST_F(Graphs, a_handle_that_is_no_object_is_refused) {
  auto* const none = reinterpret_cast<cudaUserObject_t>(0x1234560);
  EXPECT_EQ(cudaUserObjectRetain(none, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaUserObjectRelease(none, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphRetainUserObject(graph_, none, 1, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphReleaseUserObject(graph_, none, 1), cudaErrorInvalidValue);
}

TEST_F(Graphs, a_picture_names_every_edge) {
  const cudaGraphNode_t first = empty_node(graph_);
  cudaGraphNode_t second = nullptr;
  ASSERT_EQ(cudaGraphAddEmptyNode(&second, graph_, &first, 1), cudaSuccess);
  const std::string path = ::testing::TempDir() + "vramfit-graph." + std::to_string(getpid());
  ASSERT_EQ(cudaGraphDebugDotPrint(graph_, path.c_str(), 0), cudaSuccess);
  const std::string text((std::istreambuf_iterator<char>(std::ifstream(path).rdbuf())), {});
  unlink(path.c_str());
  EXPECT_NE(text.find("->"), std::string::npos);
  EXPECT_EQ(cudaGraphDebugDotPrint(graph_, "/no/such/folder/x", 0), cudaErrorOperatingSystem);
}

TEST_F(Graphs, a_capture_goes_on_after_the_nodes_it_is_given) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(nullptr, 0, 0, stream), cudaSuccess);
#if CUDART_VERSION >= 13000
  ASSERT_EQ(cudaStreamUpdateCaptureDependencies(stream, nullptr, nullptr, 0, cudaStreamSetCaptureDependencies),
            cudaSuccess);
#else
  ASSERT_EQ(cudaStreamUpdateCaptureDependencies(stream, nullptr, 0, cudaStreamSetCaptureDependencies), cudaSuccess);
#endif
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &captured), cudaSuccess);
  ASSERT_NE(captured, nullptr);
  EXPECT_EQ(cudaGraphDestroy(captured), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

}  // namespace
