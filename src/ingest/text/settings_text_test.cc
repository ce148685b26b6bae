#include "ingest/text/settings_text.h"

#include <gtest/gtest.h>

namespace vramfit::ingest {
namespace {

using model::SettingsIn;

TEST(SettingsText, is_known_by_its_content) {
  for (const char* text :
       {"model: resnet50\nbatch_size: 8\nepochs: 10\namp: true\n", "[train]\nbatch_size = 8\nepochs = 10\n",
        "{\"train_batch_size\": 8, \"fp16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 2}}\n",
        "Namespace(lr=0.001, batch_size=64, epochs=10, gpu=0)\n",
        "# of DeepSpeed\noptimizer:\n  type: AdamW\n  params:\n  - lr: 1e-4\nloss: mse\n"}) {
    EXPECT_EQ(judge_settings(text), SettingsIn::kSettings) << text;
  }
  for (const char* text : {"torch==2.1.0\nnumpy>=1.2\n", "-r base.txt\nflash-attn\ntorch[cuda] ~= 2.4 ; x\n"}) {
    EXPECT_EQ(judge_settings(text), SettingsIn::kPackages) << text;
  }
}

TEST(SettingsText, is_none_where_a_program_prints) {
  for (const char* text :
       {"model: resnet50\nbatch_size: 8\nepoch: 1\nloss: 0.5\n", "batch_size = 8\nstep = 1\n",
        "model: resnet50\nbatch_size: 8\nTraining starts\n", "batch: 1\nbatch: 2\n",
        "{\"epoch\": 1, \"batch\": 5, \"loss\": 0.5}\n", "{\"batch\": 1}\n{\"batch\": 2}\n", "torch\nnumpy\n"}) {
    EXPECT_EQ(judge_settings(text), SettingsIn::kNone) << text;
  }
}

}  // namespace
}  // namespace vramfit::ingest
