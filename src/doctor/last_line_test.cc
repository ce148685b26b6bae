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
        "[rank1]: heartbeat missing for a while"}) {
    EXPECT_TRUE(ends_strangely(last)) << last;
    EXPECT_TRUE(ends_strangely(std::string(last) + "\n" + last)) << last;
    EXPECT_TRUE(ends_strangely(std::string(last) + "\nme@box:~/work$")) << last;
  }
}

TEST(LastLine, that_goes_on_or_ends_as_logs_do_is_none) {
  for (const char* last : {"INFO epoch 1 step 20 loss 0.88",
                           "Training finished.",
                           "训练完成",
                           "`Trainer.fit` stopped: `max_epochs=1` reached.",
                           "Test Error 0.12",
                           "3 passed, 0 failed",
                           "Loaded a new skill at default settings",
                           "Epoch 0: 100%|███| 128/128",
                           "INFO: Uvicorn running on http://0.0.0.0:8000",
                           "saved to D:/läufe/out",
                           "wrote D:/läufe/out",
                           "False",
                           "Testing",
                           "学習時間: 12分",
                           "Temps total : 12 s, précision 0,93",
                           "speed: 2 × faster",
                           "Val accuracy 0.93 at epoch 3",
                           "real 0m12.3s",
                           "Elapsed time: 12 s",
                           "step 20 took 3.1 seconds",
                           "INFO waiting for the next file\nINFO epoch 1 step 20 loss 0.8",
                           "Disabling caching of GPU memory.",
                           "[I] Engine built in 9 s.",
                           "Server started",
                           "2026-11-21 10:02:05 INFO Saving model checkpoint to out/",
                           "mean loss of epoch 1: 0.85",
                           "optimizer=adamw lr=0.1",
                           "INFO epoch 1 step 20",
                           "INFO: Wed May 24 14:40:38 PDT 2023: no OOMs found"}) {
    EXPECT_FALSE(ends_strangely(last)) << last;
  }
}

}  // namespace
}  // namespace vramfit::doctor
