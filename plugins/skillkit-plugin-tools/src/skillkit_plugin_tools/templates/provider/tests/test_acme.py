"""The suite of adapters asks over real connections a server that speaks the other half of the wire."""

import pytest
from skillkit_testkit.conformance import AdapterConformance
from skillkit_testkit.wires import Item, Wire, line

import skillkit_acme


class AcmeWire(Wire):
    """The server's half of "acme-lines": reads requests, and writes what the script of a check says."""

    api = "acme-lines"
    path = "/say"  # requests are posted to it
    content_type = "application/x-ndjson"  # of a stream

    def items(self, body):
        """The conversation of a request, in order."""
        yield from (Item(line["who"], line["said"]) for line in body["talk"])

    def tools(self, body):
        """The tools that a request offers: this wire has none."""
        return ()

    def whole(self, answer):
        """An answer in one object."""
        usage = answer.reply.usage
        counts = {"read": usage.prompt, "wrote": usage.output} if usage else {}
        end = "limit" if answer.reply.stop_reason == "length" else "over"
        return {"text": answer.reply.whole_text, "end": end, **counts}

    def events(self, answer):
        """The same as a stream. Pieces of content are marked: checks hold and cut there."""
        if answer.reply.unknown:
            yield line({"mood": "fine"})
        yield from (line({"text": piece}, delta=True) for piece in answer.reply.text_pieces)
        yield line({**self.whole(answer), "text": ""})

    def error(self, fail):
        """The body of an answer with status `fail.status`."""
        return {"error": fail.message}

    def error_events(self, fail, answer):
        """The end of a stream that fails."""
        return [line(self.error(fail))]


class TestAdapter(AdapterConformance):
    wire = AcmeWire()

    @pytest.fixture
    def make_adapter(self):
        def make(url):
            return skillkit_acme.AcmeAdapter(None, provider="acme", base_url=url, api_key="a-key")

        return make


def test_the_provider_has_a_model_to_begin_with(make_host):
    host = make_host(skillkit_acme)
    assert host.models.list() == ["acme/acme-1"]
