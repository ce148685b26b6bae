#include "doctor/last_line.h"

#include <gtest/gtest.h>

#include <string>

namespace vramfit::doctor {
namespace {

bool ends_strangely(const std::string& last) {
  model::TextFile file;
  file.name = "job.log";
  file.sample = "$ python train.py\nINFO epoch 1 step 0 loss 0.90\nINFO epoch 1 step 10 loss 0.89\n" + last + "\n";
  return find_strange_last_line(file).has_value();
}

TEST(LastLine, in_whatever_language_is_not_passed_over) {
  for (const char* last :
       {"Lỗi: GPU hết bộ nhớ", "خطأ: ذاكرة وحدة معالجة الرسومات غير كافية", "Σφάλμα: ανεπαρκής μνήμη GPU",
        "Virhe: näytönohjaimen muisti loppui kesken", "Kesalahan: memori GPU tidak cukup",
        "页面文件太小，无法完成操作。", "ข้อผิดพลาด: หน่วยความจำ GPU ไม่เพียงพอ", "Zabit",
        "NVRM: Xid (PCI:0000:65:00): 31, pid=1. MMU Fault", "[GPU] out of GPU resources",
        "NVRM: RmInitAdapter failed! (0x24:0x51:1524)", "WebGL: CONTEXT_LOST_WEBGL: loseContext: context lost",
        "[cnrtError] [12] [Card : 0] in cnrtMalloc"}) {
    EXPECT_TRUE(ends_strangely(last)) << last;
  }
}

TEST(LastLine, of_plain_words_that_nobody_knows_is_strange_whatever_they_tell) {
  for (const char* last :
       {"and then the screen went black", "the process just disappeared", "nothing more came after this",
        "INFO the worker on node 3 stopped responding", "2026-11-21 10:02:05 INFO trainer: peer went away for good",
        "Note: 3 hours later the window was gone", "Training just stopped here", "step 20 and then silence",
        "rank 3: no word since 600 s", "Connection lost", "everything is slower than yesterday",
        "my machine started to swap", "the display is reset and the build gone",
        "[rank1]: heartbeat missing for a while",
        // What a program is about to do is no end: it may have died of it.
        "Loaded a new skill at default settings", "Disabling caching of pages", "Loading the shards", "Testing",
        "Saving model checkpoint to out/", "2026-11-21 10:02:05 INFO begin validation on the valid subset"}) {
    EXPECT_TRUE(ends_strangely(last)) << last;
    EXPECT_TRUE(ends_strangely(std::string(last) + "\n" + last)) << last;
    EXPECT_TRUE(ends_strangely(std::string(last) + "\nme@box:~/work$")) << last;
  }
}

TEST(LastLine, of_figures_that_the_log_did_not_have_is_strange_unless_all_its_words_are_known) {
  for (const char* last :
       {"hbm_used=100% hbm_free=0 status=7", "E0 1201 pid 12 allocator.cc:88] 0 bytes left, wanted 4194304",
        "VRAM 100% abort", "\U0001f4a5 VRAM 100% \U0001f4a5 abort", "VRAM Usage [##########] 24564 / 24564 MiB",
        "gpu memory used 100 %", "CUDA_ERROR 2 at step 8", "gpu0 12288/12288 MiB  gpu1 12288/12288 MiB", "rc=137",
        "cgroup: limit 64G hit 31 times", "job 4312 state=OUT_OF_ME+ exit=0:125", "0.93", "2020-05-08 18:5",
        "Namespace(lr=0.001, batch_size=64, epochs=10, gpu=0)", "speed: 2 × faster", "alloc 2147483648 rc=-12"})
    EXPECT_TRUE(ends_strangely(last)) << last;
}

TEST(LastLine, that_was_cut_is_strange) {
  for (const char* last : {"torch.OutOfMe", "torch.cuda.OutOfMem", "    loss.backw", "INFO epoch 1 step",
                           "INFO epoch 1 step 20", "INFO epoch 1 step 20 loss",
                           "Epoch 3:  12%|#2        | 47/391 [00:02<00:19, 18.0it/s, train_loss=0.9", "saved to \"out"})
    EXPECT_TRUE(ends_strangely(last)) << last;
  model::TextFile zeros;
  zeros.sample = "epoch 1 loss 0.9\nepoch 2 loss 0.8\nepoch 3 loss 0.7\n" + std::string(8, '\0');
  EXPECT_TRUE(find_strange_last_line(zeros));
}

TEST(LastLine, that_each_rank_says_at_the_end_is_no_line_of_the_log) {
  std::string end;
  for (int rank = 0; rank < 8; ++rank) end += "rank " + std::to_string(rank) + " is gone\n";
  model::TextFile file;
  for (int step = 0; step < 12; ++step) file.sample += "step " + std::to_string(step) + " loss 0.5\n";
  EXPECT_FALSE(find_strange_last_line(file));
  file.sample += end;
  EXPECT_TRUE(find_strange_last_line(file));
  // Lines that come round are the log's own, whatever their words.
  model::TextFile own;
  for (int step = 0; step < 4; ++step) own.sample += "step " + std::to_string(step) + " loss 0.5\nblorp 12 gnats\n";
  EXPECT_FALSE(find_strange_last_line(own));
}

TEST(LastLine, that_goes_on_or_ends_as_logs_do_is_none) {
  for (const char* last : {"INFO epoch 1 step 20 loss 0.88",
                           "Training finished.",
                           "训练完成",
                           "`Trainer.fit` stopped: `max_epochs=1` reached.",
                           "Test Error 0.12",
                           "3 passed, 0 failed",
                           "Epoch 0: 100%|███| 128/128",
                           "INFO: Uvicorn running on http://0.0.0.0:8000",
                           "saved to D:/läufe/out",
                           "wrote D:/läufe/out",
                           "Val accuracy 0.93 at epoch 3",
                           "real 0m12.3s",
                           "Elapsed time: 12 s",
                           "saved to out.pt",
                           "Finished. GPU memory at end: 812 MB allocated, 2048 MB reserved.",
                           "Peak memory: 20.78 GB",
                           "===== 209 passed, 5 skipped in 412.33s (0:06:52) =====",
                           "Training completed. Do not forget to share your model on huggingface.co/models =)",
                           "INFO:     127.0.0.1:51222 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK",
                           "[GIN] 2025/02/21 - 01:41:08 | 200 |  6.1s |  127.0.0.1 | POST \"/api/chat\"",
                           "LOG (train:DisableCaching():cuda-device.cc:731) Disabling caching of GPU memory.",
                           "Process finished with exit code 0",
                           "step 20 took 3.1 seconds",
                           "INFO waiting for the next file\nINFO epoch 1 step 20 loss 0.8",
                           "[I] Engine built in 9 s.",
                           "Server started",
                           "mean loss of epoch 1: 0.85",
                           "INFO: Wed May 24 14:40:38 PDT 2023: no OOMs found"}) {
    EXPECT_FALSE(ends_strangely(last)) << last;
  }
}

}  // namespace
}  // namespace vramfit::doctor
