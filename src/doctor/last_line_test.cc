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

TEST(LastLine, that_goes_on_or_ends_as_logs_do_is_none) {
  for (const char* last :
       {"INFO epoch 1 step 20 loss 0.88", "Training finished.", "训练完成",
        "`Trainer.fit` stopped: `max_epochs=1` reached.", "Test Error 0.12", "3 passed, 0 failed",
        "a new skill at default settings", "Epoch 0: 100%|███| 128/128", "INFO: Uvicorn running on http://0.0.0.0:8000",
        "saved to D:/läufe/out", "wrote D:/läufe/out", "False", "Testing", "学習時間: 12分",
        "Temps total : 12 s, précision 0,93", "speed: 2 × faster", "Note: this is the last one"}) {
    EXPECT_FALSE(ends_strangely(last)) << last;
  }
}

}  // namespace
}  // namespace vramfit::doctor
