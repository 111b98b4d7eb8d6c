"""Recorded requests whose tokens a provider counted: how far the estimates are off."""

import functools
import importlib.util
import json

import pytest
from skillkit_tokens import of_request
from skillkit_tokens.families import table

FOR_A_FAMILY = 0.06  # of the requests that the weights were fitted to, in the median


@pytest.fixture
def recorded(shared_data):
    """The module that reads the requests, the requests with their estimates, and the folder."""
    folder = shared_data / "context"
    spec = importlib.util.spec_from_file_location("context_tokens", folder / "lib" / "tokens.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder / "lib"))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    rows = [json.loads(line) for line in (folder / "tokens.jsonl").read_text().splitlines()]
    sent = [(shared_data / "wire" / "dev" / r["case"] / "request.json").read_text("utf-8") for r in rows]
    return module, [(r, module.flatten(json.loads(s)["body"])[0]) for r, s in zip(rows, sent, strict=True)], folder


def test_half_of_the_estimates_are_within_a_tenth_of_what_the_provider_counted(recorded):
    module, rows, _ = recorded
    found = module.measure([(r, of_request(t, r)) for r, t in rows], least=50)
    assert found["all"][0] > 300 and found["all"][1] < 0.05 and found["all"][2] < 0.25
    for group, (_, median, *_) in found.items():
        assert median < (FOR_A_FAMILY if group.startswith("family") else 0.10) or group == "class media", group


def test_the_last_count_with_an_estimate_of_the_rest_is_closer(recorded):
    module, rows, folder = recorded
    known = {r["case"]: (r, t) for r, t in rows}
    pairs = [json.loads(line) for line in (folder / "token_pairs.jsonl").read_text().splitlines()]
    errors = []
    for pair in pairs:
        if pair["from"] in known and pair["to"] in known:
            before, after = (of_request(known[pair[end]][1], known[pair[end]][0]) for end in ("from", "to"))
            errors.append(abs((pair["from_tokens"] + after - before) / pair["to_tokens"] - 1))
    assert len(errors) > 50
    assert module.quantile(errors, 0.5) < 0.05 and module.quantile(errors, 0.9) < 0.15


@functools.cache
def errors():
    return table()["error"]


def test_requests_that_the_weights_were_not_fitted_to_are_within_a_tenth_as_well():
    assert errors()["all"]["rows"] > 300 and errors()["all"]["median"] < 0.10
    assert all(errors()[f"class {kind}"]["median"] < 0.10 for kind in ("text", "tools", "schema"))
    assert all(errors()[f"family {name}"]["median"] < 0.10 for name in ("gpt", "claude"))
