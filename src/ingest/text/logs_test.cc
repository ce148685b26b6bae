// The readers of single lines and tables: libraries, shared memory, summaries, training, other programs, the host.
#include <gtest/gtest.h>

#include "ingest/text/foreign.h"
#include "ingest/text/library_error.h"
#include "ingest/text/printed_size.h"
#include "ingest/text/read_text.h"
#include "ingest/text/shm_error.h"
#include "ingest/text/training_log.h"

namespace vramfit::ingest {
namespace {

model::PrintedBytes gib(std::string_view digits) { return *printed_bytes(digits, kGib, Rounding::kNearest); }
model::Evidence read(std::string_view text) { return parse_text_evidence(text, "log"); }

TEST(LibraryError, has_library_code_and_call) {
  const auto blas =
      parse_library_error("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`");
  ASSERT_TRUE(blas);
  EXPECT_EQ(blas->library, "cublas");
  EXPECT_EQ(blas->code, "CUBLAS_STATUS_ALLOC_FAILED");
  EXPECT_EQ(blas->call, "cublasCreate(handle)");
  const auto numbered = parse_library_error("RuntimeError: cuMemCreate failed with error code 2");
  ASSERT_TRUE(numbered);
  EXPECT_EQ(numbered->code, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(numbered->call, "cuMemCreate");
  EXPECT_EQ(parse_library_error("cudaMalloc failed with error 2: x")->library, "cuda_runtime");
  EXPECT_FALSE(parse_library_error("make failed with error code 2"));
  EXPECT_FALSE(parse_library_error("customScript failed with error code 2"));
  EXPECT_FALSE(parse_library_error("cuMemCreate failed with error code 22222"));
  EXPECT_EQ(parse_library_error("cublas runtime error : resource allocation failed at THCGeneral.cpp:250")->code,
            "CUBLAS_STATUS_ALLOC_FAILED");
  EXPECT_EQ(parse_library_error("RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at \"x.cpp\":830")->library,
            "nvml");
  EXPECT_EQ(parse_library_error("node:1:2 [0] misc.cc:40 NCCL WARN Cuda failure 2 'out of memory'")->library, "nccl");
  EXPECT_EQ(parse_library_error("RuntimeError: Unable to find a valid cuDNN algorithm to run convolution")->library,
            "cudnn");
  EXPECT_EQ(parse_library_error("RuntimeError: CUDA error: device-side assert triggered")->code, "cudaErrorAssert");
  for (const std::string_view text :
       {"assert status == CUBLAS_STATUS_SUCCESS", "    raise RuntimeError('CUDNN_STATUS_ALLOC_FAILED')",
        "status: CUDNN_STATUS_SUCCESS", "const cublasStatus_t status"}) {
    EXPECT_FALSE(parse_library_error(text)) << text;
  }
}

TEST(LibraryError, of_triton_is_no_choice_that_a_search_passed_over) {
  const std::string shared =
      "No valid triton configs. OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: "
      "101376.";
  EXPECT_EQ(parse_library_error(shared)->code, "shared memory");
  EXPECT_EQ(parse_library_error("OutOfMemoryError: out of resource: triton_mm Required: 2 Hardware limit:1")->code,
            "shared memory");
  EXPECT_EQ(parse_library_error("out of resource: threads, Required: 2, Hardware limit: 1")->code, "threads");
  EXPECT_FALSE(parse_library_error("Exception " + shared + " for benchmark choice TritonTemplateCaller(x.py)"));
  EXPECT_EQ(read(shared).library_errors.size(), 1U);
  const std::string prefix = "E0912 11:54:57.366000 1121 torch/_inductor/select_algorithm.py:2100] [7/0] ";
  EXPECT_TRUE(read(prefix + shared).library_errors.empty());
}

TEST(ShmError, kinds) {
  using enum model::ShmErrorKind;
  const auto bus = parse_shm_error(
      "RuntimeError: DataLoader worker (pid 4712) is killed by signal: Bus error. It is possible that dataloader's "
      "workers are out of shared memory.");
  ASSERT_TRUE(bus);
  EXPECT_EQ(bus->kind, kBusError);
  EXPECT_EQ(bus->pid, 4712);
  EXPECT_EQ(
      parse_shm_error("RuntimeError: unable to write to file </torch_77_1234_0>: No space left on device (28)")->path,
      "/torch_77_1234_0");
  const auto nccl =
      parse_shm_error("NCCL WARN Error while creating shared memory segment /dev/shm/nccl-5wxgnR (size 9637888)");
  ASSERT_TRUE(nccl);
  EXPECT_EQ(nccl->kind, kLibrary);
  EXPECT_EQ(nccl->asked, model::exactly(base::Bytes(9637888)));
  EXPECT_FALSE(parse_shm_error("OSError: [Errno 28] No space left on device: '/data/checkpoint.pt'"))
      << "a full disk is another thing";
  EXPECT_FALSE(parse_shm_error("OutOfResources: out of resource: shared memory, Required: 164096"))
      << "that is a kernel's";
}

TEST(MemorySummary, table) {
  const auto evidence = read(R"(|===========================================================================|
|                  PyTorch CUDA memory summary, device ID 1                 |
|---------------------------------------------------------------------------|
|            CUDA OOMs: 1            |        cudaMalloc retries: 2         |
|===========================================================================|
|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |
|---------------------------------------------------------------------------|
| Allocated memory      |   7034 MiB |   7035 MiB |   8100 MiB |   1066 MiB |
|       from large pool |   6990 MiB |   6990 MiB |   8000 MiB |   1010 MiB |
|---------------------------------------------------------------------------|
| GPU reserved memory   |   7200 MiB |   7200 MiB |   7200 MiB |      0 B   |
|       from large pool |   7150 MiB |   7150 MiB |   7150 MiB |      0 B   |
|---------------------------------------------------------------------------|
| Allocations           |     900    |     905    |    1200 K  |    1199 K  |
|===========================================================================|
)");
  ASSERT_EQ(evidence.summaries.size(), 1u);
  const model::MemorySummary& summary = evidence.summaries[0];
  EXPECT_EQ(summary.device, 1);
  EXPECT_EQ(summary.counters.at("num_alloc_retries"), 2);
  EXPECT_EQ(summary.statistics.at("allocated_bytes.all").peak, *printed_bytes("7035", kMib, Rounding::kDown));
  EXPECT_EQ(summary.statistics.at("reserved_bytes.large_pool").freed, model::exactly(base::Bytes(0)));
  EXPECT_TRUE(summary.statistics.at("allocation.all").allocated->contains(base::Bytes(1'200'999)));
  EXPECT_FALSE(summary.truncated);
}

TEST(MemoryStats, dicts_one_after_the_other) {
  const auto evidence = read(
      "OrderedDict([('active.all.current', 10), ('allocated_bytes.all.current', 123456), ('num_ooms', 1)])\n"
      "{'allocated_bytes.all.current': 5,\n 'allocated_bytes.all.peak': 6,\n 'num_alloc_retries': 4}\n");
  ASSERT_EQ(evidence.summaries.size(), 2u);
  EXPECT_EQ(evidence.summaries[0].statistics.at("allocated_bytes.all").current, model::exactly(base::Bytes(123456)));
  EXPECT_EQ(evidence.summaries[0].statistics.at("allocated_bytes.all").peak, std::nullopt)
      << "what was not printed is unknown";
  EXPECT_EQ(evidence.summaries[1].statistics.at("allocated_bytes.all").peak, model::exactly(base::Bytes(6)));
  EXPECT_EQ(evidence.summaries[1].counters.at("num_alloc_retries"), 4);
}

TEST(TrainingLog, of_each_program) {
  const auto evidence = read(
      "[2022-02-21 23:35:27,338] [INFO] [utils.py:822:see_memory_usage] before optimizer 1\n"
      "[2022-02-21 23:35:27,338] [INFO] [utils.py:827:see_memory_usage] MA 4.96 GB         Max_MA 5.09 GB         CA "
      "6.39 GB         Max_CA 6 GB\n"
      "[2022-02-21 23:35:27,338] [INFO] [utils.py:832:see_memory_usage] CPU Virtual Memory:  used = 50.5 GB, percent = "
      "40.2%\n");
  ASSERT_EQ(evidence.training.size(), 1u);
  EXPECT_EQ(evidence.training[0].label, "before optimizer 1");
  EXPECT_EQ(evidence.training[0].allocated, gib("4.96"));
  EXPECT_EQ(evidence.training[0].reserved, gib("6.39"));
  EXPECT_EQ(evidence.training[0].host, gib("50.5"));
  EXPECT_EQ(evidence.training[0].host_percent, 40.2);
  const auto mm = parse_training_log(
      "Epoch(train)  [3][ 50/120]  lr: 1.0e-03  eta: 0:10:00  time: 0.51  data_time: 0.1  memory: 7123  loss: 0.3");
  ASSERT_TRUE(mm);
  EXPECT_EQ(mm->source, "mm");
  EXPECT_EQ(mm->epoch, 3);
  EXPECT_EQ(mm->step, 50);
  EXPECT_EQ(mm->steps_total, 120);
  EXPECT_EQ(mm->phase, "train");
  EXPECT_EQ(mm->max_allocated->value, base::Bytes::mib(7123));
  const auto megatron = parse_training_log(
      "[Rank 0] (after 1 iterations) memory (MB) | allocated: 18548.8 | max allocated: 22083.2 | reserved: 19224.0 | "
      "max reserved: 29000.0");
  ASSERT_TRUE(megatron);
  EXPECT_EQ(megatron->max_reserved->value, base::Bytes::mib(29000));
  EXPECT_EQ(parse_training_log("step: 10  loss:  7.1298  memory: 24.55GiB(51.80%)  wps: 7,000")->max_reserved,
            gib("24.55"));
  EXPECT_EQ(parse_training_log("eta: 1:00:00  iter: 19  total_loss: 3.1  lr: 0.001  max_mem: 7123M")->source,
            "detectron");
  EXPECT_EQ(parse_training_log("step 12 allocated: 3.21 GB reserved: 4.00 GB")->allocated, gib("3.21"));
  EXPECT_EQ(parse_training_log("Epoch 3, GPU mem 5.5G, loss 0.2")->memory, gib("5.5"));
  for (const std::string_view text :
       {"memory is important", "allocated 3 workers", "Reserved                          : 318 MiB", "reserved: yes",
        "memory: 12 GB of advice"}) {
    EXPECT_FALSE(parse_training_log(text)) << text;
  }
}

TEST(TrainingLog, of_ultralytics_takes_the_last_state_of_a_bar) {
  const auto evidence = read(
      "      Epoch    GPU_mem   box_loss   Instances       Size\n"
      "      1/100      6.10G      1.9         30        640:   0%|  | 1/120\r      1/100      7.26G      1.2         "
      "30        640:  10%|# | 12/120\n");
  ASSERT_EQ(evidence.training.size(), 1u);
  EXPECT_EQ(evidence.training[0].reserved, gib("7.26"));
  EXPECT_EQ(evidence.training[0].epoch, 1);
}

TEST(TrainingLog, a_long_one_is_thinned) {
  std::string log;
  for (int i = 0; i < 1000; ++i)
    log += "step " + std::to_string(i) + " allocated: " + std::to_string(i + 1) + ".00 MB\n";
  const auto evidence = parse_text_evidence(log, "log", {.most_entries = 64});
  EXPECT_LE(evidence.training.size(), 64u);
  EXPECT_GE(evidence.training.size(), 30u);
  EXPECT_EQ(evidence.training.front().step, 0);
  EXPECT_GT(evidence.training.back().step, 900);
}

TEST(Foreign, dumps_of_tensorflow_and_others) {
  const auto evidence = read(
      "W tensorflow/bfc_allocator.cc:463] Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.50GiB (rounded "
      "to 1610612736)\n"
      "I tensorflow/bfc_allocator.cc:1101] Sum Total of in-use chunks: 9.67GiB\nStats: \nLimit:                     "
      "10411742004\nInUse:                     10388307968\n");
  ASSERT_EQ(evidence.foreign.size(), 1u);
  EXPECT_EQ(evidence.foreign[0].kind, model::ForeignKind::kBfcDump);
  const auto size = [&](std::string_view name) {
    for (const auto& one : evidence.foreign[0].sizes) {
      if (one.name == name) return one.bytes;
    }
    return model::PrintedBytes{};
  };
  EXPECT_EQ(size("requested"), gib("1.50"));
  EXPECT_EQ(size("limit"), model::exactly(base::Bytes(10411742004)));
  EXPECT_EQ(parse_foreign(
                "ResourceExhaustedError: OOM when allocating tensor with shape[64,512,56,56] and type float on GPU:0")
                ->sizes.at(0)
                .bytes,
            model::exactly(base::Bytes(64LL * 512 * 56 * 56 * 4)));
  EXPECT_EQ(
      parse_foreign("XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.")
          ->program,
      "jax");
  // Its first words are anybody's, its figures the compiler's.
  const auto program = parse_foreign(
      "Resource exhausted: Ran out of memory in memory space hbm. Used 33.50G of 15.48G hbm. Exceeded hbm "
      "capacity by 18.02G.");
  EXPECT_EQ(program->kind, model::ForeignKind::kProgram);
  EXPECT_EQ(program->sizes.size(), 3u);
  EXPECT_EQ(parse_foreign("ValueError: No available memory for the cache blocks.")->program, "vllm");
  EXPECT_EQ(parse_foreign("alloc_tensor_range: failed to allocate CUDA0 buffer of size 4096")->kind,
            model::ForeignKind::kWeights);
  EXPECT_EQ(parse_foreign("ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 4096")->kind,
            model::ForeignKind::kComputeBuffers);
  EXPECT_FALSE(parse_foreign("  current device: 0, in function alloc at other.cu:10"));
  for (const char* text : {"vk::Device::allocateMemory: ErrorOutOfDeviceMemory", "VkResult: ERROR_OUT_OF_DEVICE_MEMORY",
                           "vkAllocateMemory failed with VK_ERROR_OUT_OF_DEVICE_MEMORY"}) {
    ASSERT_TRUE(parse_foreign(text)) << text;
    EXPECT_EQ(parse_foreign(text)->program, "vulkan") << text;
  }
  EXPECT_EQ(parse_foreign("UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY")->program, "sycl");
  EXPECT_EQ(parse_foreign("Requested buffer size exceeds device memory allocation limit")->kind,
            model::ForeignKind::kBuffer);
  EXPECT_EQ(
      parse_foreign(
          "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 4,096 bytes (allocated so far: 1,024 bytes).")
          ->sizes.size(),
      2u);
  EXPECT_FALSE(parse_foreign("OSError: [Errno 12] Cannot allocate memory"));
}

TEST(HostInfo, tables_of_the_host) {
  const auto evidence = read(
      "Filesystem      Size  Used Avail Use% Mounted on\nshm              64M   60M  4.0M  94% /dev/shm\n"
      "               total        used        free      shared  buff/cache   available\n"
      "Mem:            62Gi        38Gi       966Mi       278Mi       2.8Gi        20Gi\n"
      "max locked memory           (kbytes, -l) 65536\nMemAvailable:   20111222 kB\n");
  ASSERT_EQ(evidence.host.size(), 4u);
  EXPECT_EQ(evidence.host[0].subject, "/dev/shm");
  EXPECT_EQ(evidence.host[0].sizes.at(0).bytes.value, base::Bytes::mib(64));
  EXPECT_EQ(evidence.host[1].sizes.at(0).bytes.value, base::Bytes::gib(62));
  EXPECT_EQ(evidence.host[2].sizes.at(0).bytes.value, base::Bytes::mib(64));
  EXPECT_EQ(evidence.host[3].subject, "MemAvailable");
}

TEST(Settings, in_force_and_not_merely_advised) {
  const auto evidence = read(
      "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128,expandable_segments:True\n"
      "os.environ[\"PYTORCH_ALLOC_CONF\"] = \"garbage_collection_threshold:0.6\"\n"
      "If reserved is large try setting PYTORCH_HIP_ALLOC_CONF=expandable_segments:True to avoid fragmentation.\n"
      "python train.py --batch-size 8\nNamespace(batch_size=8, num_workers=4)\nthe batch size is too large\n"
      "PyTorch version: 2.1.0+cu118\n");
  std::map<std::string, std::string> seen;
  for (const auto& setting : evidence.settings) seen[setting.name] = setting.value;
  EXPECT_EQ(seen["PYTORCH_CUDA_ALLOC_CONF"], "max_split_size_mb:128,expandable_segments:True");
  EXPECT_EQ(seen["PYTORCH_ALLOC_CONF"], "garbage_collection_threshold:0.6");
  EXPECT_FALSE(seen.contains("PYTORCH_HIP_ALLOC_CONF"));
  EXPECT_EQ(seen["batch_size"], "8");
  EXPECT_EQ(seen["num_workers"], "4");
  EXPECT_EQ(seen["torch"], "2.1.0+cu118");
}

TEST(Settings, advised_by_a_message_that_was_wrapped_are_not_in_force) {
  for (const char* message : {"memory is large try setting\nPYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid",
                              "memory is large try\nsetting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid",
                              "memory is large try set\nting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to",
                              "| is large try setting  |\n| PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True |",
                              "[rank0]: try setting\n[rank0]: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}) {
    EXPECT_TRUE(read(message).settings.empty()) << message;
  }
  EXPECT_EQ(read("try this:\nPYTORCH_CUDA_ALLOC_CONF=expandable_segments:True").settings.size(), 1u);
}

TEST(LaunchFailure, root_cause_and_others) {
  const auto evidence = read(R"(Failures:
[1]:
  time      : 2023-05-19_16:39:58
  host      : n136
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 78971)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org
Root Cause (first observed failure):
[0]:
  time      : 2025-02-05_01:02:51
  host      : n137
  rank      : 0 (local_rank: 0)
  exitcode  : -9 (pid: 907695)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 907695
)");
  ASSERT_EQ(evidence.launch_failures.size(), 2u);
  EXPECT_FALSE(evidence.launch_failures[0].root_cause);
  EXPECT_TRUE(evidence.launch_failures[1].root_cause);
  EXPECT_EQ(evidence.launch_failures[1].rank, 0);
  EXPECT_EQ(evidence.launch_failures[1].host, "n137");
  EXPECT_EQ(evidence.launch_failures[1].signal, 9);
}

}  // namespace
}  // namespace vramfit::ingest
