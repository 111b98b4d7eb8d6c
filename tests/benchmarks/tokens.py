"""How far estimates of tokens are off on recorded requests, and how many megabytes of text they count a second.

Run it: ``python tests/benchmarks/tokens.py [--json]``. The recorded requests lie beside the clone or where ``SKILLKIT_SHARED``
says; without them the errors are those of the last fit. Printed are median and 90th percentile of the relative error and the
median bias, for rows of 50 tokens or more, beside four characters to a token. Targets: a median below 10 %, 20 MB/s.
Ends with 1 when one is missed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from skillkit_tokens import of_request
from skillkit_tokens.families import table
from skillkit_tokens.pieces import pieces

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("SKILLKIT_SHARED") or ROOT.parent / "shared")
ERROR, SPEED = 0.10, 20.0


def errors() -> dict[str, Any]:
    """Errors by group: rows, median, p90, bias, and the median of characters / 4."""
    folder = SHARED / "context"
    if not (folder / "tokens.jsonl").exists():
        return {g: (e["rows"], e["median"], e["p90"], e["bias"], None) for g, e in table()["error"].items()}
    sys.path.insert(0, str(folder / "lib"))
    spec = importlib.util.spec_from_file_location("context_tokens", folder / "lib" / "tokens.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows = list(module.rows(SHARED / "wire" / "dev", folder / "tokens.jsonl"))
    ours = module.measure([(r, of_request(t, r)) for r, t in rows])
    rough = module.measure([(r, len(t) / 4) for r, t in rows])
    return {group: (*found, rough[group][1]) for group, found in ours.items()}


def speed() -> float:
    """Megabytes a second of a result of 300 kB, the best of ten."""
    text = "".join(p.read_text("utf-8") for p in sorted((ROOT / "skillkit_core").rglob("*.py")))[:300_000]
    best = float("inf")
    for _ in range(10):
        began = time.perf_counter()
        pieces(text)
        best = min(best, time.perf_counter() - began)
    return len(text.encode()) / best / 1e6


def main() -> None:
    """Measure, print, and end with 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args().json
    found, rate = errors(), speed()
    if as_json:
        print(json.dumps({"errors": found, "megabytes_per_second": rate}))
    else:
        print(f"{'group':22} {'rows':>5} {'median':>7} {'p90':>7} {'bias':>7} {'chars/4':>8}")
        for group, (rows, median, p90, bias, rough) in found.items():
            print(
                f"{group:22} {rows:5} {median:7.1%} {p90:7.1%} {bias:7.1%} {'-' if rough is None else f'{rough:.1%}':>8}"
            )
        print(f"\n{rate:.0f} MB/s")
    sys.exit(0 if found["all"][1] < ERROR and rate >= SPEED else 1)


if __name__ == "__main__":
    main()
