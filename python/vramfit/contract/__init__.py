"""What the hooks and the command line agree on, written down once.

`notes` says which notes there are and what each holds, a file for each concern; `asked.py` and `told.py` what else goes
from one to the other as JSON; `numbers.py` the numbers of phases, stages and owners; `functions.py` the C functions
that hooks call; `plans.py` the techniques of plans; `variables.py` the environment. The C++ structs, what reads and
writes them, `docs/notes.md` and the fuzzers' dictionary are made from these files by `tools/generate_contract`.
"""
