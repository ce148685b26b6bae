#include "ingest/text/traceback.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ingest/text/read_text.h"

namespace vramfit::ingest {
namespace {

using model::Traceback;
using model::TraceRelation;

std::vector<Traceback> all_tracebacks(std::string_view text) { return parse_text_evidence(text, "log").tracebacks; }

bool has_mark(const Traceback& traceback, model::FramePhase kind) {
  return std::ranges::any_of(traceback.marks, [&](const model::PhaseMark& mark) { return mark.kind == kind; });
}

TEST(Traceback, plain_has_frames_and_the_exception) {
  const auto found = all_tracebacks(R"(epoch 1
Traceback (most recent call last):
  File "train.py", line 30, in <module>
    main()
    ~~~~^^
  File "/home/me/my project/train.py", line 21, in main
    loss.backward()
  File "/usr/lib/python3/site-packages/torch/_tensor.py", line 626, in backward
  [Previous line repeated 3 more times]
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB.
)");
  ASSERT_EQ(found.size(), 1u);
  const auto& exception = found[0].exceptions.at(0);
  ASSERT_EQ(exception.frames.size(), 3u);
  EXPECT_EQ(exception.frames[0], (model::TraceFrame{"train.py", 30, "<module>", "main()"}));
  EXPECT_EQ(exception.frames[1], (model::TraceFrame{"/home/me/my project/train.py", 21, "main", "loss.backward()"}));
  EXPECT_EQ(exception.frames[2].code, "") << "no line of code was printed";
  EXPECT_EQ(exception.type, "torch.OutOfMemoryError");
  EXPECT_EQ(exception.message, "CUDA out of memory. Tried to allocate 2.00 MiB.");
  EXPECT_EQ(found[0].at.line, 2);
  EXPECT_EQ(exception.last_line, 10);
  EXPECT_FALSE(found[0].truncated);
  EXPECT_TRUE(has_mark(found[0], model::FramePhase::kBackward));
  EXPECT_FALSE(has_mark(found[0], model::FramePhase::kEvaluation));
}

TEST(Traceback, chained_ones_are_one_with_their_relation) {
  const auto found = all_tracebacks(R"(Traceback (most recent call last):
  File "a.py", line 1, in f
    x = torch.zeros(9)
RuntimeError: CUDA out of memory.

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 5, in <module>
    f()
ValueError: second

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "b.py", line 7, in <module>
KeyError: 'third'
)");
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].exceptions.size(), 3u);
  EXPECT_EQ(found[0].exceptions[0].relation, TraceRelation::kFirst);
  EXPECT_EQ(found[0].exceptions[1].relation, TraceRelation::kDuringHandling);
  EXPECT_EQ(found[0].exceptions[2].relation, TraceRelation::kDirectCause);
  EXPECT_EQ(found[0].exceptions[2].type, "KeyError");
}

TEST(Traceback, of_the_pin_memory_thread) {
  const auto found = all_tracebacks(R"(Exception in thread Thread-4 (_pin_memory_loop):
Traceback (most recent call last):
  File "/usr/lib/python3.10/threading.py", line 1016, in _bootstrap_inner
    self.run()
  File "/lib/torch/utils/data/_utils/pin_memory.py", line 54, in _pin_memory_loop
    do_one_step()
RuntimeError: CUDA error: out of memory
CUDA kernel errors might be asynchronously reported at some other API call.
)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].speaker.thread, "Thread-4 (_pin_memory_loop)");
  EXPECT_TRUE(has_mark(found[0], model::FramePhase::kPinMemory));
  EXPECT_TRUE(found[0].exceptions[0].message.starts_with("CUDA error: out of memory\nCUDA kernel errors"));
}

TEST(Traceback, carried_over_from_a_worker) {
  const auto found = all_tracebacks(R"(Traceback (most recent call last):
  File "train.py", line 3, in <module>
    for x in loader:
RuntimeError: Caught RuntimeError in DataLoader worker process 2.
Original Traceback (most recent call last):
  File "/lib/torch/utils/data/_utils/worker.py", line 308, in _worker_loop
    data = fetcher.fetch(index)
  File "data.py", line 9, in __getitem__
    return x.cuda()
RuntimeError: CUDA error: out of memory
)");
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].exceptions.size(), 2u);
  EXPECT_EQ(found[0].speaker.worker, 2);
  EXPECT_EQ(found[0].exceptions[0].note, "Caught RuntimeError in DataLoader worker process 2.");
  EXPECT_EQ(found[0].exceptions[1].relation, TraceRelation::kOriginal);
  EXPECT_EQ(found[0].exceptions[1].frames.back().code, "return x.cuda()");
  EXPECT_TRUE(has_mark(found[0], model::FramePhase::kToDevice));
}

TEST(Traceback, of_ranks_with_prefixes_are_told_apart) {
  const auto found = all_tracebacks(R"([rank1]: Traceback (most recent call last):
[rank0]: Traceback (most recent call last):
[rank1]:   File "a.py", line 1, in one
[rank0]:   File "b.py", line 2, in two
[rank1]:     work()
[rank0]:     other()
[rank0]: torch.OutOfMemoryError: CUDA out of memory.
[rank1]: RuntimeError: NCCL error
)");
  ASSERT_EQ(found.size(), 2u);
  const auto rank0 = std::ranges::find_if(found, [](const Traceback& one) { return one.speaker.rank == 0; });
  ASSERT_NE(rank0, found.end());
  EXPECT_EQ(rank0->exceptions[0].frames.at(0), (model::TraceFrame{"b.py", 2, "two", "other()"}));
  EXPECT_EQ(rank0->exceptions[0].type, "torch.OutOfMemoryError");
}

TEST(Traceback, of_ranks_without_prefixes_print_into_one_another) {
  const auto found = all_tracebacks(R"(Traceback (most recent call last):
Traceback (most recent call last):
  File "a.py", line 9, in <module>
    main()
  File "a.py", line 9, in <module>
  File "a.py", line 5, in main
    main()
  File "a.py", line 5, in main
RuntimeError: CUDA out of memory. Tried to allocate 2.00 MiB (GPU 0; 1.00 GiB total capacity
RuntimeError: CUDA out of memory. Tried to allocate 2.00 MiB (GPU 1; 1.00 GiB total capacity
)");
  ASSERT_EQ(found.size(), 2u);
  for (const Traceback& one : found) {
    ASSERT_EQ(one.exceptions[0].frames.size(), 2u);
    EXPECT_EQ(one.exceptions[0].frames[0].line, 9);
    EXPECT_EQ(one.exceptions[0].frames[1].line, 5);
  }
  EXPECT_NE(found[0].exceptions[0].message, found[1].exceptions[0].message);
}

TEST(Traceback, behind_a_progress_bar_and_times) {
  const auto found = all_tracebacks(
      "\r 10%|#    | 1/10 [00:01<00:09]\r 20%|##   | 2/10 [00:02<00:08]Traceback (most recent call last):\r\n"
      "  File \"a.py\", line 1, in f\r\n    g()\r\nValueError: x\r\n"
      "2024-05-01 10:00:00,123 ERROR Traceback (most recent call last):\n"
      "2024-05-01 10:00:00,124 ERROR   File \"b.py\", line 2, in h\n"
      "2024-05-01 10:00:00,125 ERROR     k()\n"
      "2024-05-01 10:00:00,126 ERROR KeyError: 'y'\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].exceptions[0].frames.at(0).code, "g()");
  EXPECT_EQ(found[0].exceptions[0].type, "ValueError");
  EXPECT_EQ(found[1].exceptions[0].frames.at(0), (model::TraceFrame{"b.py", 2, "h", "k()"}));
  EXPECT_EQ(found[1].exceptions[0].type, "KeyError");
}

TEST(Traceback, of_a_notebook) {
  const auto found = all_tracebacks(R"(---------------------------------------------------------------------------
OutOfMemoryError                          Traceback (most recent call last)
Cell In[5], line 3
      1 for x in loader:
      2     x = x.cuda()
----> 3     y = model(x)

File ~/lib/torch/nn/modules/module.py:1511, in Module._wrapped_call_impl(self, *args, **kwargs)
   1509     return self._compiled_call_impl(*args, **kwargs)
-> 1511     return self._call_impl(*args, **kwargs)

OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.
)");
  ASSERT_EQ(found.size(), 1u);
  const auto& exception = found[0].exceptions[0];
  ASSERT_EQ(exception.frames.size(), 2u);
  EXPECT_EQ(exception.frames[0], (model::TraceFrame{"In[5]", 3, "", "y = model(x)"}));
  EXPECT_EQ(exception.frames[1].line, 1511);
  EXPECT_EQ(exception.frames[1].function, "Module._wrapped_call_impl");
  EXPECT_EQ(exception.type, "OutOfMemoryError");
}

TEST(Traceback, of_an_older_notebook_tells_the_line_beside_the_code) {
  const auto found = all_tracebacks(R"(RuntimeError                              Traceback (most recent call last)
<ipython-input-12-5e0f> in <module>
      1 model.train()
----> 2 out = model(batch)

/usr/local/lib/python3.7/dist-packages/torch/nn/modules/module.py in _call_impl(self, *input, **kwargs)
    726         else:
--> 727             result = self.forward(*input, **kwargs)
    728         for hook in itertools.chain(

RuntimeError: CUDA out of memory.
)");
  ASSERT_EQ(found.size(), 1u);
  const auto& frames = found[0].exceptions[0].frames;
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0], (model::TraceFrame{"<ipython-input-12-5e0f>", 2, "<module>", "out = model(batch)"}));
  EXPECT_EQ(frames[1].line, 727);
  EXPECT_EQ(frames[1].function, "_call_impl");
}

TEST(Traceback, of_rich_stands_in_a_box) {
  const auto found = all_tracebacks(
      "╭───────────── Traceback (most recent call last) ─────────────╮\n"
      "│ /home/me/train.py:12 in main                                │\n"
      "│                                                             │\n"
      "│    9 for x in data:                                         │\n"
      "│ ❱ 12 │   y = model(x)                                       │\n"
      "│                                                             │\n"
      "│ /home/me/envs/a/lib/python3.9/site-packages/torch/nn/modules/ │\n"
      "│ module.py:1359 in _call_impl                                │\n"
      "│ ❱ 1359 │   │   │   return forward_call(*args)               │\n"
      "╰─────────────────────────────────────────────────────────────╯\n"
      "OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.\n");
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].exceptions[0].frames.size(), 2u);
  EXPECT_EQ(found[0].exceptions[0].frames[0], (model::TraceFrame{"/home/me/train.py", 12, "main", "y = model(x)"}));
  EXPECT_EQ(found[0].exceptions[0].frames[1],
            (model::TraceFrame{"/home/me/envs/a/lib/python3.9/site-packages/torch/nn/modules/module.py", 1359,
                               "_call_impl", "return forward_call(*args)"}));
  EXPECT_EQ(found[0].exceptions[0].type, "OutOfMemoryError");
}

TEST(Traceback, without_its_beginning_or_end_is_marked) {
  const auto headless = all_tracebacks("  File \"a.py\", line 5, in main\n    work()\nRuntimeError: no\n");
  ASSERT_EQ(headless.size(), 1u);
  EXPECT_TRUE(headless[0].truncated);
  const auto endless = all_tracebacks("Traceback (most recent call last):\n  File \"a.py\", line 5, in main\n");
  ASSERT_EQ(endless.size(), 1u);
  EXPECT_TRUE(endless[0].truncated);
  EXPECT_EQ(endless[0].exceptions[0].type, "");
}

TEST(Traceback, of_rich_without_its_top_begins_at_the_frame_above_the_arrow) {
  const auto found = all_tracebacks(
      "│ /home/me/train.py:12 in step      │\n│                                   │\n"
      "│   11 │   scale()                  │\n│ ❱ 12 │   optimizer.step()          │\n"
      "╰───────────────────────────────────╯\nOutOfMemoryError: CUDA out of memory.\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].truncated);
  ASSERT_EQ(found[0].exceptions.at(0).frames.size(), 1u);
  EXPECT_EQ(found[0].exceptions[0].frames[0], (model::TraceFrame{"/home/me/train.py", 12, "step", "optimizer.step()"}));
  EXPECT_EQ(found[0].exceptions[0].type, "OutOfMemoryError");
}

TEST(Traceback, of_faulthandler_is_turned_around) {
  const auto found = all_tracebacks(R"(Fatal Python error: Bus error

Current thread 0x00007f00 (most recent call first):
  File "/lib/torch/storage.py", line 3 in _share
  File "train.py", line 8 in <module>
)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].exceptions[0].frames.at(0).function, "<module>");
  EXPECT_EQ(found[0].exceptions[0].frames.at(1).line, 3);
}

TEST(Traceback, beyond_the_limit_is_counted_and_hides_nothing) {
  const std::string one =
      "Traceback (most recent call last):\n  File \"a.py\", line 5, in main\n    work()\n    ^^^^^^\n"
      "  File \"b.py\", line 6, in work\n    y = f(x)\nRuntimeError: CUDA out of memory. Tried to allocate 20.00 "
      "MiB.\n";
  TextLimits limits;
  limits.most_entries = 2;
  std::string text;
  for (int i = 0; i < 5; ++i) text += one + "step " + std::to_string(i) + "\n";
  const auto evidence = parse_text_evidence(text + "Killed\n", "log", limits);
  EXPECT_EQ(evidence.tracebacks.size(), 2u);
  EXPECT_EQ(evidence.unread.at("tracebacks beyond the limit"), 3);
  ASSERT_EQ(evidence.ooms.size(), 1u);
  EXPECT_EQ(evidence.ooms[0].repeated, 5);
  EXPECT_EQ(evidence.host_kills.size(), 1u);
}

TEST(Traceback, in_a_notebook_file) {
  const auto found = all_tracebacks(
      "     \"\\u001b[0;31mOutOfMemoryError\\u001b[0m                          Traceback (most recent call last)\",\n"
      "     \"Cell \\u001b[0;32mIn[7], line 2\\u001b[0m\\n\\u001b[0;32m----> 2\\u001b[0m y = f(x)\\n\",\n"
      "     \"\\u001b[0;31mOutOfMemoryError\\u001b[0m: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 14.76 "
      "GiB "
      "total capacity; 13.00 GiB already allocated; 3.75 MiB free; 13.80 GiB reserved in total by PyTorch)\"\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].exceptions[0].frames.at(0), (model::TraceFrame{"In[7]", 2, "", "y = f(x)"}));
  EXPECT_EQ(found[0].exceptions[0].type, "OutOfMemoryError");
}

}  // namespace
}  // namespace vramfit::ingest
