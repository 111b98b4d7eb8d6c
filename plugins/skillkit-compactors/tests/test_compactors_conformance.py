"""The conformance suite for compactors, with each of the four."""

from __future__ import annotations

import pytest
from skillkit_compactors import PruneCompactor, SlidingWindowCompactor, SummaryCompactor, TokenBudgetCompactor
from skillkit_testkit.conformance import CompactorConformance


class TestSummary(CompactorConformance):
    @pytest.fixture
    def compactor(self):
        return SummaryCompactor()


class TestPrune(CompactorConformance):
    @pytest.fixture
    def compactor(self):
        return PruneCompactor()


class TestSlidingWindow(CompactorConformance):
    @pytest.fixture
    def compactor(self):
        return SlidingWindowCompactor()


class TestTokenBudget(CompactorConformance):
    @pytest.fixture
    def compactor(self):
        return TokenBudgetCompactor()
