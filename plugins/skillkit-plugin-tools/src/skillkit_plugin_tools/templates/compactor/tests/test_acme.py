"""The suite of compactors shortens histories of all shapes; below it stands what is this compactor's own."""

import pytest
from skillkit_core import AssistantMessage, UserMessage, blocks_of
from skillkit_testkit.conformance import CompactorConformance

import skillkit_acme


class TestCompactor(CompactorConformance):
    @pytest.fixture
    def compactor(self, make_host):
        return make_host(skillkit_acme).compactors.get("acme")

    def test_it_cuts_before_a_question_and_keeps_the_newest_turn(self, compactor):
        question = UserMessage(content=blocks_of("Why? " * 500))
        answer = AssistantMessage(content=blocks_of("So. " * 500))
        history = [question, answer] * 20
        result = self.compact(compactor, history)
        assert history[result.keep_from] is question
        assert result.keep_from < len(history)
