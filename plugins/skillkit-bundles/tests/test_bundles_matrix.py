"""The matrix has a row for everything that the readers know."""

from skillkit_bundles.formats.hook_files import CLAUDE_EVENTS, COPILOT_EVENTS
from skillkit_bundles.formats.manifest import CLAUDE, FREE
from skillkit_bundles.formats.marketplace import _KINDS
from skillkit_bundles.matrix import MATRIX, page


def test_every_field_source_handler_and_event_has_a_row():
    text = page()
    rows = {title: " ".join(row.feature for row in rows) for title, rows in MATRIX.items()}
    for field in (*CLAUDE, *FREE):
        assert f"`{field}`" in rows["Claude Code: manifest"], field
    for kind in _KINDS.keys() - {"git", "local"}:
        assert f"`{kind}`" in rows["Claude Code: marketplaces"], kind
    for name in (*CLAUDE_EVENTS, *COPILOT_EVENTS):
        assert f"`{name}`" in text, name
    for kind in ("lsp", "monitors", "output styles", "themes", "workflows", "settings.json", "bin/", ".mcpb"):
        assert kind in rows["Claude Code: components"], kind


def test_what_has_no_effect_says_what_is_reported():
    for rows in MATRIX.values():
        for row in rows:
            assert row.works or any(
                word in row.here for word in ("no effect", "not ", "never", "refused", "nothing")
            ), row
