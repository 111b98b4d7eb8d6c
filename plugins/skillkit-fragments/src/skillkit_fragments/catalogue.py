"""All fragments of this package. Another plugin brings its own by ``register_fragments``; nothing here knows of them."""

from __future__ import annotations

from . import (
    attachment_analysis,
    collection_search,
    data_formatting,
    entity_relationship,
    fact_verification,
    gap_analysis,
    image_search,
    intelligent_document_retrieval,
    proofreading,
    visualization,
    web_research,
)

__all__ = ["FRAGMENTS"]

FRAGMENTS = (
    intelligent_document_retrieval.FRAGMENT,
    image_search.FRAGMENT,
    gap_analysis.FRAGMENT,
    web_research.FRAGMENT,
    visualization.FRAGMENT,
    proofreading.FRAGMENT,
    fact_verification.FRAGMENT,
    data_formatting.FRAGMENT,
    attachment_analysis.FRAGMENT,
    collection_search.FRAGMENT,
    entity_relationship.FRAGMENT,
)
