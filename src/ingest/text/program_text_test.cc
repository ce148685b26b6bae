#include "ingest/text/program_text.h"

#include <gtest/gtest.h>

#include "ingest/text/read_text.h"

namespace vramfit::ingest {
namespace {

model::ProgramIn program_in(const std::string& text) {
  return parse_text_evidence(text, "standard input").files.at(0).program;
}

const std::string kScript = R"py(#!/usr/bin/env python3
"""Trains a net, and keeps each loss.

It can't be told from its name.
"""
from __future__ import annotations

import argparse
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(width, 10),  # it's small
        )

    def forward(self, x):
        return self.body(x) if x is not None else None


losses: list[torch.Tensor] = []
net = Net().cuda()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, betas=(0.9, 0.95))
for step in range(1_000):
    loss = net(torch.randn(8, 64, device="cuda")).square().mean()
    loss.backward()
    optimizer.step(), optimizer.zero_grad(set_to_none=True)
    losses.append(loss)
    if step % 10 == 0 and not loss.isnan():
        print(f"step {step} loss {loss.item():.3f}"
              " and so on")
)py";

TEST(ProgramText, is_python_by_its_statements) {
  EXPECT_EQ(program_in(kScript), model::ProgramIn::kPython);
  EXPECT_EQ(program_in("import torch\r\nx = torch.zeros(4, device='cuda')\r\nprint(x)\r\n"), model::ProgramIn::kPython);
  EXPECT_EQ(program_in("for batch in loader:\n    losses.append(model(batch))\n"), model::ProgramIn::kPython);
  EXPECT_EQ(program_in("%matplotlib inline\n!pip install torch\nimport torch\nx = 1\nx\n"), model::ProgramIn::kPython);
  std::string long_script = kScript;
  while (long_script.size() < (200 << 10)) long_script += "net(torch.randn(8, 64,\n  device='cuda'))\n";
  EXPECT_EQ(program_in(long_script), model::ProgramIn::kPython);
}

TEST(ProgramText, is_not_what_a_program_printed_or_somebody_wrote) {
  for (const std::string& text : {
           std::string("step 1 loss 0.5\nstep 2 loss 0.4\n"),
           std::string("Loss: 0.5\nLoss: 0.4\n"),
           std::string("lr = 0.1\nbatch = 4\n"),
           std::string("{\"loss\": 0.5, \"step\": 1}\n{\"loss\": 0.4, \"step\": 2}\n"),
           std::string("Net(\n  (fc1): Linear(in_features=784, out_features=10, bias=True)\n)\n"),
           std::string(">>> import torch\n>>> x = torch.zeros(4)\n"),
           std::string("class Net(\n  (fc1): Linear()\n)\nimport done\nstep 1\n"),
           std::string("{\n  \"loss\": 0.5,\n  \"step\": {\n    \"a\": 1\n  }\n}\n"),
           std::string("#include <cuda.h>\nint main() {\n  return 0;\n}\n$ ./a.out\nstep 1\nstep 2\n"),
           std::string("Using device cuda (0)\nlr = 0.1\nconfig {\n  depth: 4\n}\nepoch 1 loss 0.5\n"),
           std::string("import errors are all that I see\nwith the new driver it works\n"),
           "It is killed after an hour. Why?\n\n" + kScript,
           kScript + "step 0 loss 0.5\nstep 10 loss 0.4\nstep 20 loss 0.3\n",
           std::string("$ python train.py\nimport torch\nx = 1\n"),
       }) {
    EXPECT_EQ(program_in(text), model::ProgramIn::kNone) << text;
  }
}

TEST(ProgramText, is_that_of_other_languages_by_its_blocks) {
  for (const char* text : {
           "#include <cuda.h>\nint main() {\n  return 0;\n}\n",
           "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tlosses := []float64{}\n\tfor step := 0; step < 9; "
           "step++ {\n"
           "\t\tlosses = append(losses, train(step)) // kept\n\t}\n\tfmt.Println(losses)\n}\n",
           "use tch::nn;\n\nfn main() -> Result<()> {\n    let vs = nn::VarStore::new(Device::Cuda(0));\n"
           "    for epoch in 1..200 {\n        let loss = net\n            .forward(&x)\n            "
           ".mean(Kind::Float);\n"
           "        println!(\"epoch {} loss {}\", epoch, loss);\n    }\n    Ok(())\n}\n",
           "import ai.djl.Model;\n\n/**\n * Trains until the memory of the card is full.\n */\npublic class Train {\n"
           "    public static void main(String[] args) throws IOException {\n        // step 1 loss 0.5\n"
           "        try (Model model = Model.newInstance(\"mlp\")) {\n            train(model);\n        }\n    }\n}\n",
           "using CUDA, Flux\n\nfunction train(model)\n    losses = CuArray[]\n    for step in 1:100\n"
           "        push!(losses, loss(model))\n    end\n    return losses\nend\n",
           "function net = train(data)\n% step 1 loss 0.5\nx = gpuArray(data);\nfor step = 1:100\n    net = "
           "update(net, x);\n"
           "end\nend\n",
       }) {
    EXPECT_EQ(program_in(text), model::ProgramIn::kOther) << text;
  }
}

TEST(ProgramText, is_a_notebook_without_output) {
  const std::string head = "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"source\": [\"import torch\"],\n";
  EXPECT_EQ(program_in(head + "   \"outputs\": []\n  }\n ],\n \"nbformat\": 4\n}\n"), model::ProgramIn::kNotebook);
  EXPECT_EQ(program_in(head + "   \"outputs\": [{\"output_type\": \"stream\", \"text\": [\"epoch 1\"]}]\n  }\n ]\n}\n"),
            model::ProgramIn::kNone)
      << "somebody ran it";
}

}  // namespace
}  // namespace vramfit::ingest
