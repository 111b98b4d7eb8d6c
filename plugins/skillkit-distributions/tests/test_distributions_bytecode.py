"""Bytecode that was not compiled from its source is found."""

from __future__ import annotations

import importlib.util
import marshal
import py_compile
import sys
from pathlib import Path
from zlib import crc32

import pytest
from skillkit_distributions.bytecode import foreign_bytecode

from skillkit_core.host.methods import _Compiled


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "module.py"
    file.write_text("def f(x, y=(1, 2.0, 'three')):\n    return [n for n in range(x) if n in {1, 2}] or y\n")
    return file


def cached(source: Path) -> Path:
    return Path(importlib.util.cache_from_source(str(source)))


@pytest.mark.parametrize("mode", list(py_compile.PycInvalidationMode))
def test_what_python_compiled_is_not_foreign(source: Path, mode: py_compile.PycInvalidationMode) -> None:
    assert list(foreign_bytecode(iter([source]))) == []
    py_compile.compile(str(source), invalidation_mode=mode)
    assert list(foreign_bytecode(iter([source]))) == []


@pytest.mark.parametrize(
    "mode", [py_compile.PycInvalidationMode.TIMESTAMP, py_compile.PycInvalidationMode.UNCHECKED_HASH]
)
def test_other_code_under_the_same_head_is_foreign(source: Path, mode: py_compile.PycInvalidationMode) -> None:
    py_compile.compile(str(source), invalidation_mode=mode)
    file = cached(source)
    head = file.read_bytes()[:16]
    for body in (marshal.dumps(compile("x = 1", str(source), "exec")), b"", b"\x00nonsense"):
        file.write_bytes(head + body)
        assert list(foreign_bytecode(iter([source]))) == [file]


def test_bytecode_that_python_would_not_take_does_not_count(source: Path) -> None:
    py_compile.compile(str(source))
    file = cached(source)
    data = file.read_bytes()
    for stale in (b"\0\0\0\0" + data[4:], data[:8] + bytes(8), data[:4] + (3).to_bytes(4, "little") + bytes(8)):
        file.write_bytes(stale + b"other")
        assert list(foreign_bytecode(iter([source]))) == []


@pytest.mark.parametrize(("module", "mode"), [("dataclasses", "exec"), ("collections", "eval")])
def test_a_method_that_is_not_the_code_of_its_text_is_foreign(source: Path, module: str, mode: str) -> None:
    file = cached(source).with_name(f"{cached(source).name}.{module}")
    file.parent.mkdir()
    kept = _Compiled(str(file), mode)  # as the core writes it
    kept("lambda: 1", {})
    kept._keep()
    assert list(foreign_bytecode(iter([source]))) == []
    record = marshal.dumps(("lambda: 1", compile("lambda: 2", "<string>", mode, dont_inherit=True)))
    data = marshal.dumps(({7: 3}, b"xyz" + record))
    odd = marshal.dumps((5, record))
    for other in (
        *(marshal.dumps((sys.version, crc32(one), one)) for one in (data, odd)),
        marshal.dumps((sys.version, 1, data)),
        b"nonsense",
    ):
        file.write_bytes(other)
        assert list(foreign_bytecode(iter([source]))) == [file]
    file.write_bytes(marshal.dumps(("another Python", 1, data)))
    assert list(foreign_bytecode(iter([source]))) == []
