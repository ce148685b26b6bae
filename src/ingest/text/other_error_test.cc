#include "ingest/text/other_error.h"

#include <gtest/gtest.h>

namespace vramfit::ingest {
namespace {

TEST(NamesError, by_its_form_alone) {
  for (const char* text : {"ValueError: bad", "cv2.error: OpenCV(4.5)", "Segmentation fault (core dumped)",
                           "bash: pyhton: command not found", "AssertionError", "KeyboardInterrupt"}) {
    EXPECT_TRUE(names_error(text)) << text;
  }
  for (const char* text : {"0 errors so far", "error rate 0.02, loss 1.2", "epoch 1",
                           "Here is the error:", "Epoch: [3]  class_error: 50.1  loss: 1.8452 (2.2991)"})
    EXPECT_FALSE(names_error(text)) << text;
}

}  // namespace
}  // namespace vramfit::ingest
