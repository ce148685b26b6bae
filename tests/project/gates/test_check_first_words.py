"""Comments that begin with the genitive of their subject fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from broken_trees import run_gate, write

GOOD = {
    "src/a.cc": "#include <string>\n// The length of a list.\n// Of no interest: a second line.\n"
    'int f();\nint g(); // Of x\nconst char* text = R"(\n// Of a text that is raw\n)";\n/* The rest.\n   Of it. */\n',
    "python/vramfit/a.py": '"""What a list holds.\n\nOf it."""\n\n\ndef f():\n    # It is short.\n    # Of course.\n'
    '    return 1  # Of one\n\n\ndef g():\n    """Off and on."""\n    text = """\n# Of a text\n"""\n    return text\n',
    "tools/run": "#!/usr/bin/env python3\n# Offers a list.\n",
    "bench/a.py": '"""Of a bench."""\n',
}


def test_comments_that_name_their_subject_first_pass(root: Path, tmp_path: Path) -> None:
    done = run_gate(root, "check_first_words", write(tmp_path, GOOD))
    assert (done.returncode, done.stdout) == (0, "comments begin with what they speak of\n")


@pytest.mark.parametrize("word", ["Of", "By", "Beside", "Behind", "Below", "Beyond", "Whose", "As"])
@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("src/a.cc", "int f();\n\n// {} one list.\n// It goes on.\nint g();\n", 3),
        ("src/a.h", "struct A {{\n  //\n  // `{}` one list.\n  int b;\n}};\n", 3),
        ("virtual_gpu/a.h", "/** {} a card. */\nint f();\n", 1),
        ("recorder/a.cc", "int f(); // aside\n// {} one list.\n", 2),
        ("src/report/a.js", "// {} one list.\nconst a = 1;\n", 1),
        ("python/vramfit/a.py", '"""{} one list."""\n', 1),
        ("python/vramfit/b.py", 'class A:\n    """{} one list,\n    which goes on.\n    """\n', 2),
        ("tests/a.py", "A = 1  # first\n# {} the rest.\nB = 2\n", 2),
        ("tools/a", '#!/usr/bin/env python3\nasync def f() -> int:\n    """{} a pass."""\n', 3),
    ],
)
def test_a_comment_that_begins_with_a_genitive_fails(
    root: Path, tmp_path: Path, name: str, text: str, line: int, word: str
) -> None:
    done = run_gate(root, "check_first_words", write(tmp_path, {**GOOD, name: text.format(word)}))
    assert done.returncode == 1
    assert done.stdout == f'{name}:{line}: begins with "{word}", not with what it speaks of\n'
