#include "ingest/text/memory_trouble.h"

#include <gtest/gtest.h>

#include <string>

#include "ingest/text/read_text.h"

namespace vramfit::ingest {
namespace {

TEST(MemoryTrouble, is_seen_in_the_words_of_any_program) {
  for (const char* text :
       {"RuntimeError: XPU out of memory, please use `empty_cache` to release all unoccupied cached memory.",
        "vk::Device::allocateMemory: ErrorOutOfDeviceMemory", "llama_kv_cache_init: failed to allocate CPU buffer",
        "INTERNAL: failed to allocate 1234567 bytes from device", "Insufficient memory on device 0",
        "hipErrorOutOfMemory", "amdgpu: GTT exhausted", "the model is larger than the available VRAM",
        "Could not allocate tensor with 1024 bytes", "MemoryError", "worker died: OOM", "terminated (OOMKilled)",
        "显存不足", "Nicht genügend Speicher", "не хватает памяти", "HBM limit exceeded by 2 GB",
        "device memory is full", "unable to reserve heap",
        "it seems not possible to allocate 66.50 MB of memory on my card"}) {
    EXPECT_TRUE(find_memory_trouble(text)) << text;
  }
}

TEST(MemoryTrouble, is_seen_in_counters_that_are_not_zero) {
  for (const char* text :
       {"num_alloc_retries: 412", "{\"loss\": NaN, \"num_ooms\": 2}", "oom=1", "OOMs: 14, retries: 302",
        "[WARNING] [stage3.py:1949:step] 4 pytorch allocator cache flushes since last step.", "cudaMalloc retries: 9",
        "oom_kill 3", "memory.alloc_retries=7", "CUDA OOMs: 3"}) {
    EXPECT_TRUE(find_memory_trouble(text)) << text;
  }
  for (const char* text : {"num_alloc_retries: 0", "{\"num_ooms\": 0, \"step\": 4}", "oom=0",
                           "0 pytorch allocator cache flushes", "cudaMalloc retries: 0", "oom_score_adj: 500",
                           "max_oom_retries: 3", "retries: 3", "http retries 4 of 5", "room 3, zoom 2"}) {
    EXPECT_FALSE(find_memory_trouble(text)) << text;
  }
}

TEST(MemoryTrouble, is_seen_in_drivers_names_and_numbers_and_in_words_that_were_cut) {
  for (const char* text :
       {"RuntimeError: CNRT error: CNRT_RET_ERR_NOMEM", "alloc 2147483648 rc=-12", "RuntimeError: CUDA driver error: 2",
        "CUDA_ERROR 2 at step 8", "RuntimeError: CUDA out of me", "torch.OutOfMem",
        "OCI runtime: cannot start a container that has used all its memory: unknown.",
        "WARNING: cudaMallocManaged oversubscription active, expect page faults"}) {
    EXPECT_TRUE(find_memory_trouble(text)) << text;
  }
  for (const char* text : {"CUDA driver error: 209", "CUDA error: 2.5 ms late", "rc=-125", "phenomemic 3"}) {
    EXPECT_FALSE(find_memory_trouble(text)) << text;
  }
}

TEST(MemoryTrouble, is_seen_in_a_message_that_an_address_carries) {
  const auto evidence = parse_text_evidence(
      "epoch 1 loss 2\nerr=CUDA%20out%20of%20memory.%20Tried%20to%20allocate%202.00%20GiB\n", "log");
  EXPECT_FALSE(evidence.oom_mentions.empty() && evidence.ooms.empty());
  EXPECT_TRUE(parse_text_evidence("fan at 45%20 rpm\n", "log").memory_words.empty());
}

TEST(MemoryTrouble, is_not_seen_in_counters_conditions_code_and_other_meanings) {
  for (const char* text :
       {"memory: 12 GiB allocated, 14 GiB reserved", "cudaMalloc retries: 0 | cuda OOMs: 0", "oom 0", "oom_kill 0",
        "If you run out of memory, lower the batch size", "this avoids running out of memory", "except MemoryError:",
        "CUDA error: an illegal memory access was encountered", "failed to import memory_efficient_attention",
        "Using channels_last memory format", "the bedroom failed to render", "epoch 3 loss 0.5"}) {
    EXPECT_FALSE(find_memory_trouble(text)) << text;
  }
}

TEST(MemoryTrouble, is_seen_in_warnings_of_little_and_in_what_users_tell) {
  for (const char* text :
       {"[Low GPU VRAM Warning] 200 MB", "just 0.4 GB of GPU memory remaining", "only 412 MB VRAM left",
        "free VRAM is lower than the safe value of 1536 MB", "the vram goes to 100 % and it dies",
        "my gpu memory hits 100% after an hour", "RAM fills up over night",
        "memory usage spikes and the process crashes", "vram is maxed out"}) {
    EXPECT_TRUE(find_memory_trouble(text)) << text;
  }
  for (const char* text :
       {"loading into memory: 100%|####| 3/3", "low_cpu_mem_usage=True is recommended", "Set vram state to: LOW_VRAM",
        "only 3 of 16 workers use shared memory", "memory usage is below the required limit",
        "so that memory never fills up", "bodies, remedies and high memory bandwidth", "program crashed in render()",
        "VRAM 8188 MB, RAM 32581 MB", "OOM injected in 4 tests as planned: all recovered"}) {
    EXPECT_FALSE(find_memory_trouble(text)) << text;
  }
}

TEST(MemoryTrouble, keeps_the_words_of_a_long_line) {
  const std::string text = std::string(5000, 'x') + " out of memory " + std::string(5000, 'y');
  const auto words = find_memory_trouble(text);
  ASSERT_TRUE(words);
  EXPECT_TRUE(words->contains("out of memory"));
  EXPECT_LT(words->size(), 600u);
}

TEST(MemoryTrouble, is_seen_across_the_joint_of_a_line_read_in_pieces) {
  const TextLimits limits{.longest_line = 1000, .block = 300};
  for (std::size_t before = 960; before < 1040; ++before) {
    const auto evidence =
        parse_text_evidence(std::string(before, 'x') + "out_of_memory" + std::string(1500, 'y'), "log", limits);
    EXPECT_FALSE(evidence.memory_words.empty()) << before;
  }
}

TEST(MemoryTrouble, is_supposed_where_an_error_says_when_it_would_be_that) {
  for (const char* text :
       {"RuntimeError: Workers are gone. If nothing stands above this, your RAM was full and one was killed.",
        "IOError: cannot continue, may be out of memory", "ValueError: no result. Use fewer workers or get more RAM!"})
    EXPECT_TRUE(supposes_memory_trouble(text)) << text;
  for (const char* text :
       {"RuntimeError: Pin memory thread exited unexpectedly", "KeyError: 'memory_key' is not in chat memory",
        "CUDA error: an illegal memory access was encountered. Compile with TORCH_USE_CUDA_DSA",
        "ValueError: shapes do not agree. Program is in a program of its own"})
    EXPECT_FALSE(supposes_memory_trouble(text)) << text;
  const auto supposed = [](const std::string& text) { return parse_text_evidence(text, "log").supposed.size(); };
  EXPECT_EQ(supposed("RuntimeError: it died. If nothing is above, your RAM was full.\n"), 1u);
  EXPECT_EQ(supposed("If you see an error, your RAM may be full.\n"), 0u) << "what is no error supposes nothing";
  for (const char* text : {"ValueError: Loaded weights leave no GPU memory for the KV cache\n",
                           "  what():  Device does not have enough memory for all 3 buffers\n"})
    EXPECT_EQ(supposed(text), 1u) << "an error that names the card's memory: " << text;
  for (const char* text : {"RuntimeError: Pin memory thread exited unexpectedly\n", "the GPU memory is fine\n",
                           "CUDA error: an illegal memory access was encountered\n"})
    EXPECT_EQ(supposed(text), 0u) << text;
}

}  // namespace
}  // namespace vramfit::ingest
