"""What the hooks and the command line agree on, written down once.

`notes` says which notes there are and what each holds, a file for each concern; `numbers.py` the numbers of phases,
stages and owners. The C++ structs, their reader, `docs/notes.md` and the fuzzers' dictionary are made from these files
by `tools/generate_contract`.
"""
