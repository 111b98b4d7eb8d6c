"""Action `occurrences`: how often a word or phrase stands in a text file, and on which lines."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

sys.dont_write_bytecode = True  # the skill's folder stays as it was installed

from command import Problem, Result, count, run, shown  # noqa: E402
from reading import pieces  # noqa: E402

MOST_LINES = 200
SHOWN_LINES = 10
WIDEST = 100


def occurrences(values: Mapping[str, str]) -> Result:
    """Count whole words (or with `parts` anything) that equal `word`; capitals do not matter unless `exact`."""
    name, wanted = values["file"], values["word"].strip()
    if not wanted:
        raise Problem("the word to look for is empty")
    inner = r"\s+".join(map(re.escape, wanted.split()))
    pattern = re.compile(inner if "parts" in values else rf"(?<!\w){inner}(?!\w)", 0 if "exact" in values else re.I)
    total = lines = number = 0
    found: list[dict[str, object]] = []
    whole_line = True
    for piece in pieces(name):
        number += whole_line
        whole_line = piece.endswith("\n")
        times = len(pattern.findall(piece))
        if times:
            total += times
            lines += 1
            if len(found) < MOST_LINES:
                found.append({"line": number, "times": times, "text": shown(piece.strip()[:WIDEST])})
    answer = [f"{shown(wanted)!r} occurs {count(total, 'time')} on {count(lines, 'line')} of {shown(name)}"]
    answer += [f"{item['line']:>6}: {item['text']}" for item in found[:SHOWN_LINES]]
    if lines > SHOWN_LINES:
        answer.append(f"... and {count(lines - SHOWN_LINES, 'more line')}")
    return {
        "answer": "\n".join(answer),
        "file": name,
        "word": wanted,
        "times": total,
        "lines": lines,
        "places": found,
        "truncated": lines > len(found),
    }


if __name__ == "__main__":
    sys.exit(run(occurrences, positional=["file", "word"], flags=["exact", "parts"]))
