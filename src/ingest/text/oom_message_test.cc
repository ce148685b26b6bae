#include "ingest/text/oom_message.h"

#include <gtest/gtest.h>

#include "ingest/text/printed_size.h"
#include "ingest/text/read_text.h"
#include "model/run_result.h"

namespace vramfit::ingest {
namespace {

using model::OomDevice;
using model::OomForm;
using model::OomMessage;

OomMessage only(std::string_view text) {
  const model::Evidence evidence = parse_text_evidence(text, "log.txt");
  EXPECT_EQ(evidence.ooms.size(), 1u) << text;
  return evidence.ooms.empty() ? OomMessage{} : evidence.ooms.front();
}

model::PrintedBytes in_gib(std::string_view digits) { return *printed_bytes(digits, kGib, Rounding::kNearest); }
model::PrintedBytes mib(std::string_view digits) { return *printed_bytes(digits, kMib, Rounding::kNearest); }

TEST(OomMessage, of_torch_0_3_has_no_numbers) {
  const OomMessage oom =
      only("RuntimeError: cuda runtime error (2) : out of memory at /pytorch/THC/generic/THCStorage.cu:58\n");
  EXPECT_EQ(oom.form, OomForm::kRuntimeError2);
  EXPECT_EQ(oom.exception, "RuntimeError");
  EXPECT_FALSE(oom.tried || oom.total || oom.free);
  EXPECT_EQ(oom.at.line, 1);
}

TEST(OomMessage, of_a_run_has_the_words_of_the_error_and_what_the_recorder_counted) {
  const model::OomState counted{.device = 1,
                                .tried = base::Bytes::mib(300),
                                .allocated = base::Bytes::mib(900),
                                .reserved = base::Bytes::mib(1000)};
  const OomMessage silent = message_of_run({}, counted);
  EXPECT_EQ(silent.tried, model::exactly(base::Bytes::mib(300)));
  EXPECT_EQ(silent.allocated, model::exactly(base::Bytes::mib(900)));
  EXPECT_EQ(silent.gpu, 1);
  ASSERT_TRUE(silent.arithmetic.idle);
  EXPECT_EQ(silent.arithmetic.idle->value, base::Bytes::mib(100));
  const OomMessage said = message_of_run(
      {.message = "CUDA out of memory. Tried to allocate 62.50 MiB (GPU 1; 10.76 GiB total capacity; 4.01 GiB already "
                  "allocated; 356.00 MiB free; 5.54 GiB cached)"},
      counted);
  EXPECT_EQ(said.form, OomForm::kCachedTotal);
  EXPECT_EQ(said.tried, mib("62.50")) << "the words stay as they were";
  EXPECT_FALSE(said.reserved) << "which they call otherwise";
  EXPECT_EQ(said.exception, "torch.OutOfMemoryError");
  EXPECT_EQ(said.at.file, "the run");
}

TEST(OomMessage, of_a_run_is_no_log_whatever_the_error_quotes) {
  const OomMessage said = message_of_run(
      {.message = "rank 1: worker (pid 7) was killed by the OOM killer\nCUDA out of memory. Tried to allocate 2 MiB."},
      std::nullopt);
  EXPECT_TRUE(said.tried);
  EXPECT_EQ(said.at.text, "rank 1: worker (pid 7) was killed by the OOM killer");
}

TEST(OomMessage, of_torch_1_1_tells_the_idle_cache) {
  const OomMessage oom = only(
      "RuntimeError: CUDA out of memory. Tried to allocate 62.50 MiB (GPU 1; 10.76 GiB total capacity; 4.01 GiB "
      "already "
      "allocated; 356.00 MiB free; 5.54 GiB cached)");
  EXPECT_EQ(oom.form, OomForm::kCachedTotal);
  EXPECT_EQ(oom.gpu, 1);
  EXPECT_EQ(oom.tried, mib("62.50"));
  EXPECT_EQ(oom.total, in_gib("10.76"));
  EXPECT_EQ(oom.free, mib("356.00"));
  EXPECT_EQ(oom.allocated, in_gib("4.01"));
  EXPECT_EQ(oom.cached, in_gib("5.54"));
  EXPECT_EQ(oom.arithmetic.reserved->value, oom.allocated->value + oom.cached->value);
  EXPECT_EQ(oom.arithmetic.idle, oom.cached);
  EXPECT_FALSE(oom.truncated);
}

TEST(OomMessage, more_free_than_there_is_is_none_that_was_counted_below_zero) {
  const OomMessage oom = only(
      "HIP out of memory. Tried to allocate 288.00 MiB. GPU 0 has a total capacty of 512.00 MiB of which "
      "17179869184.00 GiB is free. Of the allocated memory 243.69 MiB is allocated by PyTorch, and 40.31 MiB is "
      "reserved by PyTorch but unallocated.");
  EXPECT_EQ(oom.total, mib("512.00"));
  EXPECT_EQ(oom.free->value, base::Bytes(0));
  EXPECT_EQ(oom.arithmetic.in_use->value, oom.total->value);
}

TEST(OomMessage, of_torch_1_8_and_1_13_differ_in_the_hint) {
  const std::string text =
      "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.93 GiB total capacity; 7.01 GiB already allocated; "
      "5.44 "
      "MiB free; 7.30 GiB reserved in total by PyTorch)";
  const OomMessage old = only("RuntimeError: " + text);
  EXPECT_EQ(old.form, OomForm::kReservedTotal);
  EXPECT_TRUE(old.hints.empty());
  const OomMessage hinting =
      only("torch.cuda.OutOfMemoryError: " + text +
           " If reserved memory is >> allocated memory try setting max_split_size_mb to avoid "
           "fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF");
  EXPECT_EQ(hinting.form, OomForm::kReservedHint);
  EXPECT_EQ(hinting.hints, std::vector<std::string>{"max_split_size_mb"});
  EXPECT_EQ(hinting.hint_variable, "PYTORCH_CUDA_ALLOC_CONF");
  EXPECT_EQ(hinting.exception, "torch.cuda.OutOfMemoryError");
  // 7.30 - 7.01 GiB, each to within 0.005 GiB
  EXPECT_LT(hinting.arithmetic.idle->low, base::Bytes(in_gib("0.29").value));
  EXPECT_GT(hinting.arithmetic.idle->high, base::Bytes(in_gib("0.29").value));
  EXPECT_EQ(hinting.arithmetic.outside->value, hinting.total->value - hinting.free->value - hinting.reserved->value);
}

TEST(OomMessage, of_torch_2_names_processes_and_parts) {
  const OomMessage oom = only(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.95 GiB. GPU 0 has a total capacity of 14.57 GiB "
      "of "
      "which 1.58 GiB is free. Process 2493055 has 12.02 GiB memory in use. Including non-PyTorch memory, this process "
      "has "
      "966.00 MiB memory in use. 7.28 GiB allowed; Of the allocated memory 734.07 MiB is allocated by PyTorch, with "
      "33.00 "
      "MiB allocated in private pools (e.g., CUDA Graphs), and 33.93 MiB is reserved by PyTorch but unallocated. If "
      "reserved "
      "but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation. "
      " See "
      "documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)");
  EXPECT_EQ(oom.form, OomForm::kProcessesHint);
  EXPECT_EQ(oom.device, OomDevice::kCuda);
  ASSERT_EQ(oom.processes.size(), 1u);
  EXPECT_EQ(oom.processes[0].pid, 2493055);
  EXPECT_EQ(oom.processes[0].bytes, in_gib("12.02"));
  EXPECT_EQ(oom.this_process, mib("966.00"));
  EXPECT_EQ(oom.allowed, in_gib("7.28"));
  EXPECT_EQ(oom.private_pools, mib("33.00"));
  EXPECT_EQ(oom.unallocated, mib("33.93"));
  EXPECT_EQ(oom.hint_variable, "PYTORCH_ALLOC_CONF");
  EXPECT_EQ(oom.arithmetic.reserved->value, oom.allocated->value + oom.unallocated->value);
  EXPECT_EQ(oom.arithmetic.live->value, oom.allocated->value - oom.private_pools->value);
  EXPECT_EQ(oom.arithmetic.context->value, oom.this_process->value - oom.arithmetic.reserved->value);
  // The card's own numbers leave the other process's 12.02 GiB and some MiB of the driver's.
  EXPECT_GT(oom.arithmetic.others->value, oom.processes[0].bytes.value);
  EXPECT_LT(oom.arithmetic.others->value, oom.processes[0].bytes.value + base::Bytes::mib(64));
}

TEST(OomMessage, in_a_container_the_own_process_is_the_least_that_holds_the_cache) {
  const OomMessage oom = only(
      "CUDA out of memory. Tried to allocate 1.25 GiB. GPU 1 has a total capacty of 93.02 GiB of which 1.18 GiB is "
      "free. "
      "Process 12 has 410.00 MiB memory in use. Process 2752205 has 91.42 GiB memory in use. Of the allocated memory "
      "90.63 "
      "GiB is allocated by PyTorch, and 120.54 MiB is reserved by PyTorch but unallocated.");
  EXPECT_EQ(oom.form, OomForm::kProcesses);
  EXPECT_EQ(oom.arithmetic.own_pid, 2752205);
  EXPECT_EQ(oom.arithmetic.own_process, in_gib("91.42"));
}

TEST(OomMessage, the_printed_segment_is_not_the_tensor) {
  const auto tensor = [](std::string_view size) {
    return *only("CUDA out of memory. Tried to allocate " + std::string(size) +
                 " (GPU 0; 8.00 GiB total capacity; 6.00 GiB already allocated; 0 bytes free; 7.00 GiB reserved in "
                 "total by "
                 "PyTorch)")
                .arithmetic.tensor;
  };
  EXPECT_EQ(tensor("2.00 MiB").high.count(), kMib);
  EXPECT_EQ(tensor("20.00 MiB").low.count(), kMib + 1);
  EXPECT_EQ(tensor("20.00 MiB").high.count(), 10 * kMib - 1);
  EXPECT_EQ(tensor("62.00 MiB").low.count(), 60 * kMib + 1);
  EXPECT_EQ(tensor("62.00 MiB").high.count(), 62 * kMib);
  // 1.50 GiB stands for 1.495 to 1.505 GiB: multiples of 2 MiB from 1532 to 1540 MiB
  EXPECT_EQ(tensor("1.50 GiB").low.count(), 1530 * kMib + 1);
  EXPECT_EQ(tensor("1.50 GiB").high.count(), 1540 * kMib);
}

TEST(OomMessage, of_the_async_back_end_is_a_list) {
  const OomMessage oom = only(
      "torch.cuda.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\n"
      "Currently allocated     : 6.89 GiB\n"
      "Requested               : 320.00 MiB\n"
      "Device limit            : 23.69 GiB\n"
      "Free (according to CUDA): 2.94 MiB\n"
      "PyTorch limit (set by user-supplied memory fraction)\n"
      "                        : 17179869184.00 GiB\n"
      "INFO epoch 2\n");
  EXPECT_EQ(oom.form, OomForm::kMallocAsync);
  EXPECT_EQ(oom.allocated, in_gib("6.89"));
  EXPECT_EQ(oom.tried, mib("320.00"));
  EXPECT_EQ(oom.arithmetic.tensor, mib("320.00")) << "this back end prints the tensor's own size";
  EXPECT_EQ(oom.total, in_gib("23.69"));
  EXPECT_EQ(oom.free, mib("2.94"));
  EXPECT_EQ(oom.allowed, std::nullopt) << "2^64 bytes are no limit";
  EXPECT_FALSE(oom.truncated);
}

TEST(OomMessage, a_process_has_no_less_than_it_reserved) {
  const OomMessage oom = only(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 24.00 GiB "
      "of which 1.00 GiB is free. Including non-PyTorch memory, this process has 0 bytes memory in use. Of the "
      "allocated memory 20.00 GiB is allocated by PyTorch, and 2.00 GiB is reserved by PyTorch but unallocated.");
  EXPECT_EQ(oom.this_process, model::exactly(base::Bytes(0)));
  EXPECT_FALSE(oom.arithmetic.own_process);
  EXPECT_FALSE(oom.arithmetic.others);
}

TEST(OomMessage, of_other_devices) {
  const OomMessage npu = only(
      "RuntimeError: NPU out of memory. Tried to allocate 52.00 MiB (NPU 3; 60.96 GiB total capacity; 59.36 GiB "
      "already "
      "allocated; 59.36 GiB current active; 1.32 GiB free; 60.55 GiB reserved in total by PyTorch) If reserved memory "
      "is >> "
      "allocated memory try setting max_split_size_mb to avoid fragmentation.");
  EXPECT_EQ(npu.device, OomDevice::kNpu);
  EXPECT_EQ(npu.gpu, 3);
  EXPECT_EQ(npu.free, in_gib("1.32"));
  const OomMessage mps = only(
      "RuntimeError: MPS backend out of memory (MPS allocated: 6.04 GB, other allocations: 1.04 GB, max allowed: 6.77 "
      "GB). "
      "Tried to allocate 459.07 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit "
      "for "
      "memory allocations (may cause system failure).");
  EXPECT_EQ(mps.form, OomForm::kMps);
  EXPECT_EQ(mps.allowed, in_gib("6.77"));
  EXPECT_EQ(mps.tried, mib("459.07"));
  EXPECT_EQ(mps.metal, in_gib("1.04"));
  const OomMessage hip = only(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 16.00 GiB. GPU 0 has a total capacity of 15.24 GiB "
      "of "
      "which 15.09 GiB is free. Of the allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is reserved by "
      "PyTorch "
      "but unallocated. If reserved but unallocated memory is large try setting "
      "PYTORCH_HIP_ALLOC_CONF=expandable_segments:True to avoid fragmentation.");
  EXPECT_EQ(hip.device, OomDevice::kHip);
  EXPECT_EQ(hip.allocated, model::exactly(base::Bytes(0)));
  EXPECT_EQ(hip.hint_variable, "PYTORCH_HIP_ALLOC_CONF");
  const OomMessage host = only(
      "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you "
      "tried to "
      "allocate 274877906944 bytes. Error code 12 (Cannot allocate memory)");
  EXPECT_EQ(host.form, OomForm::kHost);
  EXPECT_EQ(host.tried, model::exactly(base::Bytes(274877906944)));
}

TEST(OomMessage, wrapped_in_the_middle_of_words_reads_the_same) {
  const std::string text =
      "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.93 GiB total capacity; 7.01 GiB already "
      "allocated; 5.44 MiB free; 7.30 GiB reserved in total by PyTorch)";
  const OomMessage whole = only(text);
  for (std::size_t width = 38; width < 120; ++width) {
    std::string wrapped, boxed;
    for (std::size_t at = 0; at < text.size(); at += width) {
      wrapped += text.substr(at, width) + "\n";
      boxed += "\xe2\x94\x82 " + text.substr(at, width) + " \xe2\x94\x82\n";
    }
    for (const std::string& broken : {wrapped, boxed}) {
      const OomMessage oom = only(broken);
      EXPECT_EQ(oom.form, whole.form) << broken;
      EXPECT_EQ(oom.tried, whole.tried) << broken;
      EXPECT_EQ(oom.reserved, whole.reserved) << broken;
      EXPECT_EQ(oom.arithmetic, whole.arithmetic) << broken;
    }
  }
}

TEST(OomMessage, cut_short_gives_what_is_there) {
  const std::string text =
      "CUDA out of memory. Tried to allocate 1.95 GiB. GPU 0 has a total capacity of 14.57 GiB of which 1.58 GiB is "
      "free. "
      "Of the allocated memory 13.00 GiB is allocated by PyTorch, and 33.93 MiB is reserved by PyTorch but "
      "unallocated.";
  for (std::size_t length = 25; length < text.size() - 12; ++length) {
    const model::Evidence evidence = parse_text_evidence(std::string_view(text).substr(0, length), "log");
    ASSERT_LE(evidence.ooms.size(), 1u);
    if (evidence.ooms.empty()) continue;
    const OomMessage& oom = evidence.ooms[0];
    EXPECT_TRUE(oom.truncated) << text.substr(0, length);
    if (oom.free) {
      EXPECT_EQ(oom.free, in_gib("1.58"));
    }
    if (oom.total) {
      EXPECT_EQ(oom.total, in_gib("14.57"));
    }
    if (oom.allocated) {
      EXPECT_EQ(oom.allocated, in_gib("13.00"));
    }
  }
}

TEST(OomMessage, the_same_numbers_in_a_row_are_one_message) {
  const std::string text =
      "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.93 GiB total capacity; 7.01 GiB already allocated; "
      "5.44 MiB "
      "free; 7.30 GiB reserved in total by PyTorch)\n";
  const model::Evidence evidence =
      parse_text_evidence("RuntimeError: " + text + "step 3\nERROR: " + text + text.substr(0, 40) +
                              "(GPU 1; 7.93 GiB total capacity; 7.01 GiB already allocated; 5.44 MiB free; 7.30 GiB "
                              "reserved in total by PyTorch)\n",
                          "log");
  ASSERT_EQ(evidence.ooms.size(), 2u);
  EXPECT_EQ(evidence.ooms[0].repeated, 2);
  EXPECT_EQ(evidence.ooms[1].gpu, 1);
  EXPECT_EQ(evidence.ooms[1].at.line, 4);
}

TEST(OomMessage, one_behind_another_is_not_its_continuation) {
  const model::Evidence evidence = parse_text_evidence(
      "THCudaCheck FAIL file=/pytorch/THCStorage.cu line=58 error=2 : out of memory\n"
      "RuntimeError: cuda runtime error (2) : out of memory at /pytorch/THCStorage.cu:58\n"
      "CUDA out of memory. Tried to allocate 2.00 MiB\n"
      "RuntimeError: CUDA error: out of memory\n"
      "torch.OutOfMemoryError: Allocation on device \n"
      "RuntimeError: CUDA out of memory. Tried to allocate 4.00 MiB (GPU 0; 1.00 GiB total capacity;\n",
      "log");
  std::vector<OomForm> forms;
  for (const OomMessage& oom : evidence.ooms) forms.push_back(oom.form);
  using enum OomForm;
  EXPECT_EQ(forms, (std::vector<OomForm>{kRuntimeError2, kPartial, kNumberless, kMallocAsync, kPartial}));
  EXPECT_EQ(evidence.ooms[0].repeated, 2);
}

TEST(OomMessage, words_about_the_error_are_no_error) {
  for (const std::string_view text : {
           "    raise RuntimeError(\"CUDA out of memory\")\n",
           "    if \"CUDA out of memory\" in str(error):\n",
           "If you run into CUDA out of memory errors, make the batch smaller.\n",
           "  except torch.cuda.OutOfMemoryError:  # CUDA out of memory\n",
           "The tank has a total capacity of 8 liters, a usable capacity of 6 liters\n",
       }) {
    EXPECT_TRUE(parse_text_evidence(text, "log").ooms.empty()) << text;
  }
}

TEST(OomMessage, of_several_ranks_are_told_apart) {
  const model::Evidence evidence = parse_text_evidence(
      "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB. GPU 1 has a total capacity of "
      "15.00\n"
      "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 MiB. GPU 0 has a total capacity of "
      "16.00\n"
      "[rank1]:  GiB of which 1.00 GiB is free.\n"
      "[rank0]:  GiB of which 3.00 GiB is free.\n",
      "log");
  ASSERT_EQ(evidence.ooms.size(), 2u);
  EXPECT_EQ(evidence.ooms[0].speaker.rank, 1);
  EXPECT_EQ(evidence.ooms[0].free, in_gib("1.00"));
  EXPECT_EQ(evidence.ooms[1].speaker.rank, 0);
  EXPECT_EQ(evidence.ooms[1].free, in_gib("3.00"));
}

}  // namespace
}  // namespace vramfit::ingest
