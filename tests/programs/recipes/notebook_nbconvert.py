"""A notebook that trains, run by `jupyter nbconvert --execute`: the card is used by the kernel that it starts."""

import nbformat
from nbconvert.nbconvertapp import NbConvertApp

CELLS = [
    "import torch\nmodel = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(4)]).cuda()\n"
    "optimizer = torch.optim.AdamW(model.parameters())",
    "for _ in range(6):\n    optimizer.zero_grad()\n    model(torch.rand(256, 2048, device='cuda')).sum().backward()\n"
    "    optimizer.step()",
]

cells = [nbformat.v4.new_code_cell(text) for text in CELLS]
nbformat.write(nbformat.v4.new_notebook(cells=cells), "train.ipynb")
NbConvertApp.launch_instance(["--to", "notebook", "--execute", "train.ipynb"])
