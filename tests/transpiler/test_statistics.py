"""The figures of ``--stats``: like reasons are one reason, and each class counts once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from file_trees import Run, make_tree
from jit_transpile.diagnostics import Diagnostic
from jit_transpile.emit.report import summary
from jit_transpile.emit.statistics import kind, statistics
from jit_transpile.twin import ClassRecord, Twin
from jit_transpile.worker import WorkerReport


@pytest.mark.parametrize(
    ("code", "message", "same"),
    [
        ("JT101", "** in a call in attend of lib.nets:12 (self.attend in forward)", "** in a call"),
        ("JT101", "*inputs in forward", "*args"),
        ("JT101", "**options in forward", "**kwargs"),
        ("JT101", "a lambda in encode (self.encode in forward)", "a lambda"),
        (
            "JT101",
            "the default of keyword-only flag in forward",
            "the default of keyword-only ...",
        ),
        ("JT103", "@torch.autocast('cuda', enabled=False) on forward", "@torch.autocast"),
        (
            "JT302",
            "pkg.net.Net: Module 'Block' has no attribute 'fn'",
            "Module ... has no attribute ...",
        ),
        (
            "JT302",
            "pkg.zoo:small: aten::add.Tensor: Expected a value of type 'Tensor' for argument 'x'",
            "aten::add.Tensor: Expected a value of type ... for argument ...",
        ),
        (
            "JT302",
            "pkg.Net: can't read x_1 of __torch__.pkg.Net in helper(), 3.5 of 12 isn't there",
            "can't read ... of ... in ...(), N of N isn't there",
        ),
        ("JT301", "pkg.Net: ValueError: groups must be 3, 4", "ValueError: groups must be N, N"),
    ],
)
def test_what_a_finding_has_in_common_with_others(code: str, message: str, same: str) -> None:
    assert kind(Diagnostic("net.py", 1, code, message)) == same


def record(name: str, *messages: str, **fields: object) -> ClassRecord:
    found = tuple(Diagnostic("net.py", n, "JT101", text) for n, text in enumerate(messages, 3))
    base = ClassRecord("net", name, "net.py", 1, rewritten=not found, diagnostics=found)
    return replace(base, **fields)  # type: ignore[arg-type]


TYPED = {
    "a": {"type": "int", "origin": "annotation in the class", "source": "declared"},
    "b": {"type": "int", "origin": "default of parameter b", "source": "inferred"},
    "c": {"type": "", "origin": "left to TorchScript", "source": "torch"},
    "d": {"type": "int", "origin": "observed", "source": "observed"},
}
CALLED = {"forward": {"x": {"type": "Tensor", "source": "torch"}}, "encode": {}}
TWIN = Twin(
    files=(),
    classes=(
        record("A", attributes=TYPED, parameters=CALLED),
        record("B"),
        record("C", "try in forward", "try in helper (self.helper in forward)", "*x in forward"),
        record("D", "try in forward"),
    ),
    diagnostics=(
        Diagnostic("a.py", 1, "JT102", "the base lib.Base cannot be found", kept=("E", "F")),
        Diagnostic("b.py", 0, "JT001", "does not parse"),
    ),
)
WORKER = WorkerReport(
    compiled=("net.A",),
    skipped=(("net.B", "its constructor needs arguments"),),
    failed=(Diagnostic("net.py", 9, "JT302", "net.G: undefined value 'x'"),),
    model_failures=(Diagnostic("net.py", 8, "JT302", "net:small: undefined value 'y'"),),
)


def test_reasons_by_frequency() -> None:
    found = [(r.count, r.code, r.text, r.example) for r in statistics(TWIN, WORKER).reasons]
    assert found == [
        (2, "JT101", "try", "net.py:3"),
        (2, "JT102", "the base ... cannot be found", "a.py:1"),
        (2, "JT302", "undefined value ...", "net.py:9"),
        (1, "", "not checked, its constructor needs arguments", "net.B"),
        (1, "JT101", "*args", "net.py:5"),
    ]


def test_where_types_come_from() -> None:
    types = statistics(TWIN, None).types
    assert types["attributes"] == {"declared": 1, "observed": 1, "inferred": 1, "torch": 1}
    assert types["parameters"] == {"declared": 0, "observed": 0, "inferred": 0, "torch": 1}


def test_the_text() -> None:
    text = summary(TWIN, worker=WORKER, seconds=1, quiet=True, stats=True)
    assert text.partition("\n\n")[2].splitlines() == [
        "     2 classes rewritten",
        "     1 compiled",
        "     2 failed",
        "     1 not checked",
        "     2 kept as they were",
        "",
        " count  code   reason                                        for example",
        "     2  JT101  try                                           net.py:3",
        "     2  JT102  the base ... cannot be found                  a.py:1",
        "     2  JT302  undefined value ...                           net.py:9",
        "     1         not checked, its constructor needs arguments  net.B",
        "     1  JT101  *args                                         net.py:5",
        "",
        "types           declared    observed    inferred torch's own         all",
        "attributes             1           1           1           1           4",
        "parameters             0           0           0           1           1",
    ]


@pytest.mark.usefixtures("src")
def test_on_the_command_line(run: Run, tmp_path) -> None:  # type: ignore[no-untyped-def]
    make_tree(tmp_path / "plain", {"a.py": "x = 1\n"})
    for arguments in (["-o", "out", "--no-compile"], ["--diff"], ["--check", "-o", "out"]):
        plain = run("src", *arguments)
        result = run("src", *arguments, "--stats")
        assert result.stdout == plain.stdout, "a diff stays a diff"
        assert "\n     1 classes rewritten\n     0 kept as they were\n\ntypes " in result.stderr
        assert "\x1b" not in result.stderr
    assert " classes rewritten" not in plain.stderr
    assert "     0 classes rewritten\n" in run("plain", "--diff", "--stats", "-q").stderr
