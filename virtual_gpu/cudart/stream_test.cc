// Streams, events, capture and graphs through the runtime's public interface.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "virtual_gpu/device/device.h"
#include "virtual_gpu/testing/card_fixture.h"

namespace {

const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new vramfit::testing::CardEnvironment);

void kernel() {}
const auto* const kKernel = reinterpret_cast<const void*>(&kernel);

cudaError_t launch(cudaStream_t stream) { return cudaLaunchKernel(kKernel, dim3(1), dim3(32), nullptr, 0, stream); }

class Streams : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaStreamCreateWithFlags(&first_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&second_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&event_), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  void TearDown() override {
    cudaEventDestroy(event_);
    cudaStreamDestroy(first_);
    cudaStreamDestroy(second_);
    cudaGetLastError();
  }

  cudaStream_t first_ = nullptr;
  cudaStream_t second_ = nullptr;
  cudaEvent_t event_ = nullptr;
};

TEST_F(Streams, work_is_pending_until_somebody_waits) {
  ASSERT_EQ(launch(first_), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event_, first_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(first_), cudaErrorNotReady);
  ASSERT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(first_), cudaSuccess);
}

TEST_F(Streams, a_loop_around_a_query_ends) {
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(launch(first_), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event_, first_), cudaSuccess);
  int queries = 0;
  while (cudaEventQuery(event_) == cudaErrorNotReady && queries < 10000) ++queries;
  EXPECT_GT(queries, 1);
  EXPECT_LT(queries, 1000);
}

TEST_F(Streams, one_stream_does_not_wait_for_another) {
  for (int i = 0; i < 100; ++i) ASSERT_EQ(launch(first_), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(second_), cudaSuccess);
}

TEST_F(Streams, an_event_carries_the_wait_over) {
  for (int i = 0; i < 100; ++i) ASSERT_EQ(launch(first_), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event_, first_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second_, event_, 0), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(second_), cudaErrorNotReady);
  ASSERT_EQ(cudaStreamSynchronize(second_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess);
}

TEST_F(Streams, the_legacy_stream_waits_for_blocking_streams_only) {
  cudaStream_t blocking = nullptr;
  ASSERT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(launch(blocking), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(blocking), cudaSuccess);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(launch(first_), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(first_), cudaErrorNotReady);
  cudaStreamDestroy(blocking);
}

TEST_F(Streams, elapsed_time_grows_with_the_work) {
  cudaEvent_t end = nullptr;
  ASSERT_EQ(cudaEventCreate(&end), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event_, first_), cudaSuccess);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(launch(first_), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(end, first_), cudaSuccess);
  float ms = -1;
  EXPECT_EQ(cudaEventElapsedTime(&ms, event_, end), cudaErrorNotReady);
  ASSERT_EQ(cudaEventSynchronize(end), cudaSuccess);
  ASSERT_EQ(cudaEventElapsedTime(&ms, event_, end), cudaSuccess);
  EXPECT_GT(ms, 0);
  cudaEventDestroy(end);
}

TEST_F(Streams, an_event_never_recorded_is_complete_but_has_no_time) {
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess);
  float ms = -1;
  EXPECT_EQ(cudaEventElapsedTime(&ms, event_, event_), cudaErrorInvalidResourceHandle);
}

TEST_F(Streams, a_destroyed_handle_is_refused) {
  cudaStream_t gone = nullptr;
  ASSERT_EQ(cudaStreamCreate(&gone), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(gone), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(gone), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(launch(gone), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamCopyAttributes(gone, nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamCopyAttributes(nullptr, gone), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamCopyAttributes(nullptr, nullptr), cudaSuccess);
}

TEST_F(Streams, impossible_launches_are_refused) {
  const uint64_t before = vramfit_gpu_launches();
  EXPECT_EQ(cudaLaunchKernel(kKernel, dim3(0), dim3(32), nullptr, 0, first_), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaLaunchKernel(kKernel, dim3(1), dim3(1025), nullptr, 0, first_), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaLaunchKernel(kKernel, dim3(1), dim3(32, 33), nullptr, 0, first_), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaLaunchKernel(kKernel, dim3(1, 65536), dim3(32), nullptr, 0, first_), cudaErrorInvalidConfiguration);
  EXPECT_EQ(vramfit_gpu_launches(), before);
  EXPECT_EQ(launch(first_), cudaSuccess);
  EXPECT_EQ(vramfit_gpu_launches(), before + 1);
}

TEST_F(Streams, many_threads_at_once_count_every_launch) {
  const uint64_t before = vramfit_gpu_launches();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      cudaEvent_t own = nullptr;
      cudaEventCreateWithFlags(&own, cudaEventDisableTiming);
      for (int j = 0; j < 500; ++j) {
        launch(i % 2 == 0 ? first_ : second_);
        cudaEventRecord(own, first_);
        cudaEventQuery(own);
      }
      cudaEventDestroy(own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(vramfit_gpu_launches(), before + 2000);
}

class Capture : public Streams {
 protected:
  void begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
    ASSERT_EQ(cudaStreamBeginCapture(first_, mode), cudaSuccess);
  }
  cudaError_t end() { return cudaStreamEndCapture(first_, &graph_); }
  void TearDown() override {
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
    Streams::TearDown();
  }
  size_t nodes() const {
    size_t count = 0;
    EXPECT_EQ(cudaGraphGetNodes(graph_, nullptr, &count), cudaSuccess);
    return count;
  }
  cudaGraph_t graph_ = nullptr;
};

TEST_F(Capture, keeps_launches_as_nodes_and_a_replay_counts_them) {
  begin();
  const uint64_t before = vramfit_gpu_launches();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(launch(first_), cudaSuccess);
  EXPECT_EQ(vramfit_gpu_launches(), before);
  ASSERT_EQ(end(), cudaSuccess);
  EXPECT_EQ(nodes(), 3u);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&executable, graph_, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(executable, second_), cudaSuccess);
  EXPECT_EQ(vramfit_gpu_launches(), before + 3);
  ASSERT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
}

TEST_F(Capture, replays_copies_and_host_calls) {
  int* block = nullptr;
  int* pinned = nullptr;
  static int calls = 0;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&block), 512), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&pinned), 512), cudaSuccess);
  begin();
  ASSERT_EQ(cudaMemcpyAsync(block, pinned, sizeof(int), cudaMemcpyHostToDevice, first_), cudaSuccess);
  ASSERT_EQ(cudaLaunchHostFunc(
                first_, [](void*) { ++calls; }, nullptr),
            cudaSuccess);
  ASSERT_EQ(end(), cudaSuccess);
  EXPECT_EQ(calls, 0);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&executable, graph_, 0), cudaSuccess);
  for (const int value : {5, 6}) {
    *pinned = value;
    ASSERT_EQ(cudaGraphLaunch(executable, first_), cudaSuccess);
    int back = 0;
    ASSERT_EQ(cudaMemcpy(&back, block, sizeof back, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(back, value);
  }
  EXPECT_EQ(calls, 2);
  cudaGraphExecDestroy(executable);
  cudaFreeHost(pinned);
  cudaFree(block);
}

TEST_F(Capture, spreads_over_events_and_must_be_joined) {
  begin();
  ASSERT_EQ(launch(first_), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event_, first_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second_, event_, 0), cudaSuccess);
  ASSERT_EQ(launch(second_), cudaSuccess);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  ASSERT_EQ(cudaStreamIsCapturing(second_, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_EQ(end(), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(graph_, nullptr);
  ASSERT_EQ(cudaStreamIsCapturing(second_, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
}

TEST_F(Capture, ends_well_once_the_other_stream_is_joined) {
  begin();
  ASSERT_EQ(cudaEventRecord(event_, first_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second_, event_, 0), cudaSuccess);
  ASSERT_EQ(launch(second_), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event_, second_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(first_, event_, 0), cudaSuccess);
  ASSERT_EQ(end(), cudaSuccess);
  EXPECT_EQ(nodes(), 1u);
}

TEST_F(Capture, forbids_synchronising_and_remembers_it) {
  begin();
  EXPECT_EQ(cudaStreamSynchronize(first_), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(launch(first_), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Capture, forbids_cudaMalloc_unless_the_thread_is_relaxed) {
  void* block = nullptr;
  begin();
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  ASSERT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&block, 512), cudaSuccess);
  ASSERT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  EXPECT_EQ(end(), cudaSuccess);
  cudaGraphDestroy(graph_);
  begin();
  void* refused = &block;
  EXPECT_EQ(cudaMalloc(&refused, 512), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(refused, nullptr);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
  cudaFree(block);
}

TEST_F(Capture, of_the_legacy_stream_is_refused) {
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
}

TEST_F(Capture, waiting_for_work_outside_is_isolation) {
  ASSERT_EQ(launch(second_), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event_, second_), cudaSuccess);
  begin();
  EXPECT_EQ(cudaStreamWaitEvent(first_, event_, 0), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Capture, into_a_graph_begins_behind_its_nodes_and_no_others) {
  cudaGraph_t target = nullptr;
  cudaGraph_t other = nullptr;
  ASSERT_EQ(cudaGraphCreate(&target, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphCreate(&other, 0), cudaSuccess);
  cudaGraphNode_t own = nullptr;
  cudaGraphNode_t others = nullptr;
  ASSERT_EQ(cudaGraphAddEmptyNode(&own, target, nullptr, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphAddEmptyNode(&others, other, nullptr, 0), cudaSuccess);
  int stranger = 0;
  auto* nobodys = reinterpret_cast<cudaGraphNode_t>(&stranger);
  const auto mode = cudaStreamCaptureModeRelaxed;
  EXPECT_EQ(cudaStreamBeginCaptureToGraph(first_, target, &nobodys, nullptr, 1, mode), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamBeginCaptureToGraph(first_, target, &others, nullptr, 1, mode), cudaErrorInvalidValue);
  ASSERT_EQ(cudaStreamBeginCaptureToGraph(first_, target, &own, nullptr, 1, mode), cudaSuccess);
  ASSERT_EQ(launch(first_), cudaSuccess);
  ASSERT_EQ(end(), cudaSuccess);
  EXPECT_EQ(graph_, target);
  size_t count = 0;
  ASSERT_EQ(cudaGraphGetNodes(target, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(cudaGraphDestroy(other), cudaSuccess);
}

TEST_F(Capture, outlives_what_it_captured_into) {
  cudaGraph_t target = nullptr;
  ASSERT_EQ(cudaGraphCreate(&target, 0), cudaSuccess);
  const auto mode = cudaStreamCaptureModeRelaxed;
  ASSERT_EQ(cudaStreamBeginCaptureToGraph(first_, target, nullptr, nullptr, 0, mode), cudaSuccess);
  ASSERT_EQ(launch(first_), cudaSuccess);
  cudaGraphNode_t node = nullptr;
  size_t count = 1;
  ASSERT_EQ(cudaGraphGetNodes(target, &node, &count), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroyNode(node), cudaSuccess);
  ASSERT_EQ(launch(first_), cudaSuccess) << "behind nothing";
  ASSERT_EQ(cudaGraphDestroy(target), cudaSuccess);
  EXPECT_EQ(launch(first_), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph_, nullptr);
  EXPECT_EQ(launch(first_), cudaSuccess) << "the stream captures no more";
}

TEST_F(Capture, user_objects_die_with_the_last_of_graph_and_executable) {
  static int destroyed = 0;
  destroyed = 0;
  begin();
  ASSERT_EQ(launch(first_), cudaSuccess);
  ASSERT_EQ(end(), cudaSuccess);
  cudaUserObject_t object = nullptr;
  ASSERT_EQ(cudaUserObjectCreate(
                &object, nullptr, [](void*) { ++destroyed; }, 1, cudaUserObjectNoDestructorSync),
            cudaSuccess);
  ASSERT_EQ(cudaGraphRetainUserObject(graph_, object, 1, cudaGraphUserObjectMove), cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&executable, graph_, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
  graph_ = nullptr;
  EXPECT_EQ(destroyed, 0);
  ASSERT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(destroyed, 1);
}

TEST_F(Capture, graph_memory_that_the_graph_frees_goes_with_it) {
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
  void* block = nullptr;
  begin();
  ASSERT_EQ(cudaMallocAsync(&block, 4096, first_), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(block, first_), cudaSuccess);
  ASSERT_EQ(end(), cudaSuccess);
  uint64_t used = 0;
  ASSERT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), cudaSuccess);
  EXPECT_EQ(used, 4096u);
  ASSERT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
  graph_ = nullptr;
  ASSERT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), cudaSuccess);
  EXPECT_EQ(used, 0u);
}

}  // namespace
