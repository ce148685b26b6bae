#include "ingest/text/oom_mention.h"

#include <gtest/gtest.h>

namespace vramfit::ingest {
namespace {

TEST(OomMention, is_found_in_prose_of_any_language) {
  for (const char* text :
       {"- **Tipo de excepción:** torch.OutOfMemoryError", "nach drei Schritten kommt CUDA OUT OF MEMORY",
        "训练到第三步就报 CUDA out of memory", "跑到一半爆显存了", "my GPU is out of memory after epoch 2",
        "學習が始まるとGPUのメモリ不足になります", "got a CUDA OOM again", "the run died, Out-Of-Memory on the gpu"}) {
    EXPECT_TRUE(mentions_oom(text)) << text;
  }
}

TEST(OomMention, is_not_code_nor_advice_nor_of_the_host) {
  for (const char* text :
       {"except torch.cuda.OutOfMemoryError:", "from torch.cuda import OutOfMemoryError",
        "If you run into CUDA out of memory, lower the batch size", "gradient checkpointing avoids CUDA out of memory",
        "Large images may lead to GPU out of memory", "Out of memory: Killed process 4242 (python)", "memory: 12 GiB",
        "finished without a CUDA OOM"}) {
    EXPECT_FALSE(mentions_oom(text)) << text;
  }
}

}  // namespace
}  // namespace vramfit::ingest
