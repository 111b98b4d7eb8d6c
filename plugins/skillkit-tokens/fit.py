# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "skillkit-tokens"]
# ///
# ruff: noqa: S311, T201 - a script that shuffles and prints
"""Fits the weights of ``weights.json`` to recorded requests whose input tokens a provider counted.

Run it: ``python plugins/skillkit-tokens/fit.py SHARED [--write]`` in an environment that has numpy (``uv run --with numpy``).
``SHARED`` holds ``context/tokens.jsonl``, ``context/lib/tokens.py`` and ``wire/dev``. Without ``--write`` the errors are printed.

The weights of a family are those of all families, plus what its tokenizer differs by, plus what its template differs by. Each
difference is drawn to 0 as strongly as it has few rows (a hierarchical ridge regression; errors are relative and their tails
count linearly). The errors are of ten folds: requests that begin alike are in one fold, so none is judged by its own
conversation.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import sys
from pathlib import Path

import numpy as np
from skillkit_tokens.estimate import recorded_parts
from skillkit_tokens.families import FAMILIES, OTHER, family_of, tokenizer_of
from skillkit_tokens.pieces import PIECES
from skillkit_tokens.shape import PARTS

LEAST = 50  # tokens of the rows that errors are told of
NOISE = 0.05  # relative error from which on a row's weight falls
SHORT = 30  # tokens below which errors count as if there were as many

# name: (expected, deviation of all families, of a tokenizer, of a family)
PRIOR = {
    "words": (1.05, 0.1, 0.03, 0), "long": (0.13, 0.05, 0.015, 0), "longer": (0.3, 0.15, 0.05, 0),
    "camel": (0.4, 0.2, 0.05, 0), "capitals": (0.25, 0.15, 0.05, 0), "digits": (0.2, 0.1, 0.1, 0),
    "numbers": (0.7, 0.2, 0.1, 0), "mixed": (-0.55, 0.1, 0.03, 0), "signs": (0.75, 0.15, 0.05, 0),
    "joined": (-0.5, 0.15, 0.04, 0),
    "lines": (0.4, 0.2, 0.05, 0), "indent": (0.1, 0.1, 0.025, 0), "accents": (0.7, 0.3, 0.1, 0),
    "cyrillic": (0.4, 0.2, 0.05, 0), "middle_east": (0.5, 0.2, 0.05, 0), "indic": (0.6, 0.2, 0.05, 0),
    "cjk": (0.9, 0.2, 0.05, 0), "hangul": (0.8, 0.2, 0.05, 0), "typographic": (1, 0.5, 0.15, 0), "emoji": (2, 0.6, 0.2, 0),
    "base": (5, 5, 40, 40), "messages": (4, 2, 3, 2), "calls": (8, 5, 6, 4), "tooled": (20, 20, 120, 100),
    "tools": (8, 4, 8, 5), "properties": (3, 2, 3, 1), "described": (1, 1, 1, 0.5), "structure": (0.3, 0.2, 0.3, 0.1),
    "schemed": (10, 10, 80, 60), "schema_structure": (0.3, 0.2, 0.3, 0.1),
}  # fmt: skip
# A tokenizer of Anthropic's counts up to 1.35 as many tokens since 2026 (its "What's new" page); there are three rows of it
EXPECTED = {"claude-new": {"tooled": 290, "structure": 0.1, "schemed": 160, "schema_structure": 0.5}}
SCALE = {"claude-new": 0.3}
SCALE_DEVIATION = 0.12  # of all weights of texts of a tokenizer together
NAMES = (*PIECES, *PARTS)


class Model:
    """The columns of the regression: weights of all, of each tokenizer with its scale, of each family."""

    def __init__(self) -> None:
        self.columns = [("", name) for name in NAMES]
        for tokenizer in dict.fromkeys(f[1] for f in FAMILIES):
            self.columns += [(f"tokenizer {tokenizer}", name) for name in (*NAMES, "scale")]
        self.columns += [(f"family {f[0]}", name) for f in FAMILIES for name in PARTS]
        self.at = {column: i for i, column in enumerate(self.columns)}
        self.expected, self.deviation = np.zeros(len(self.columns)), np.zeros(len(self.columns))
        for i, (level, name) in enumerate(self.columns):
            kind, _, tokenizer = level.partition(" ")
            if name == "scale":
                self.expected[i], self.deviation[i] = SCALE.get(tokenizer, 0.0), SCALE_DEVIATION
            else:
                rank = ("", "tokenizer", "family").index(kind)
                own = EXPECTED.get(tokenizer, {}).get(name, 0.0) if rank == 1 else 0.0
                self.expected[i] = PRIOR[name][0] if rank == 0 else own
                self.deviation[i] = PRIOR[name][1 + rank]

    def row(self, model_id: str, provider: str, api: str, parts: dict[str, int]) -> np.ndarray:
        """The columns of one request."""
        out = np.zeros(len(self.columns))
        levels = (
            "",
            f"tokenizer {tokenizer_of(model_id, provider, api)}",
            f"family {family_of(model_id, provider, api)}",
        )
        for level in levels:
            for name in NAMES:
                if (at := self.at.get((level, name))) is not None:
                    out[at] = parts.get(name, 0)
        if (at := self.at.get((levels[1], "scale"))) is not None:
            out[at] = sum(PRIOR[name][0] * parts.get(name, 0) for name in PIECES)
        return out

    def fit(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The weights: ridge regression in its dual form, repeated with less weight for rows that are far off (Huber)."""
        least = np.maximum(y, SHORT)
        a, b = x * self.deviation / least[:, None], (y - x @ self.expected) / least
        weights = np.ones(len(y))
        found = self.expected
        for _ in range(25):
            inner = a @ a.T + np.diag(NOISE**2 / np.maximum(weights, 1e-3))
            found = self.expected + self.deviation * (a.T @ np.linalg.solve(inner, b))
            weights = 1 / np.maximum(np.abs(y - x @ found) / least / NOISE, 1.0)
        return found

    def weights(self, found: np.ndarray) -> dict[str, dict[str, float]]:
        """The weights by family, as the table holds them."""

        def of(family: str, tokenizer: str) -> dict[str, float]:
            scale = found[self.at[f"tokenizer {tokenizer}", "scale"]] if tokenizer != OTHER else 0.0
            out = {}
            for name in NAMES:
                levels = ("", f"tokenizer {tokenizer}", f"family {family}")
                total = sum(found[self.at[level, name]] for level in levels if (level, name) in self.at)
                out[name] = round(float(total + (scale * PRIOR[name][0] if name in PIECES else 0.0)), 3)
            return out

        return {f[0]: of(f[0], f[1]) for f in FAMILIES} | {OTHER: of(OTHER, OTHER)}


def main() -> None:
    """Fit, print the errors, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("shared", type=Path)
    parser.add_argument("--write", action="store_true", help="replace weights.json")
    given = parser.parse_args()
    sys.path.insert(0, str(given.shared / "context" / "lib"))
    import tokens as recorded

    rows = [
        r
        for r in recorded.rows(given.shared / "wire" / "dev", given.shared / "context" / "tokens.jsonl")
        if not r[0]["media"]
    ]
    model = Model()
    x = np.array([model.row(r["model"], r["provider"], r["api"], recorded_parts(t, r)) for r, t in rows])
    y = np.array([r["input_tokens"] for r, _ in rows], float)
    begins = sorted({t[:24] for _, t in rows})
    random.Random(0).shuffle(begins)
    fold = np.array([begins.index(t[:24]) % 10 for _, t in rows])
    guessed = np.zeros(len(y))
    for k in range(10):
        guessed[fold == k] = x[fold == k] @ model.fit(x[fold != k], y[fold != k])
    named = [r | {"family": tokenizer_of(r["model"], r["provider"], r["api"])} for r, _ in rows]
    found = model.fit(x, y)
    error = {}
    unseen, seen = (recorded.measure(zip(named, map(float, g), strict=True), LEAST) for g in (guessed, x @ found))
    for group, (n, median, p90, bias) in unseen.items():
        error[group] = {
            "rows": n,
            "median": median,
            "p90": p90,
            "bias": bias,
            "fitted": {"median": seen[group][1], "p90": seen[group][2]},
        }
        print(
            f"{group:22} {n:4} unseen {median:.3f} {p90:.3f} {bias:+.3f}  fitted {seen[group][1]:.3f} {seen[group][2]:.3f}"
        )
    if given.write:
        table = {
            "source": "input tokens that providers counted for recorded requests of open-source projects' tests",
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "rows": len(rows),
            "least": LEAST,
            "error": error,
            "weights": model.weights(found),
        }
        path = Path(__file__).parent / "src" / "skillkit_tokens" / "weights.json"
        path.write_text(json.dumps(table, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
