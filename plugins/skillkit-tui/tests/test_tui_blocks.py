"""What blocks look like: every kind in both states, and what never reaches the terminal."""

import pytest
from hypothesis import given, strategies as st
from skillkit_frontend import Block, one_line, prose
from skillkit_tui.paint import Growing, estimate, rows

PROSE = """# A title

Some *prose* with `code`, which goes on for so long that it has to be wrapped somewhere.

- one
- **two**

```python
def f(x):
    return "text"  # a comment
```

| a | b |
|---|---|
| 1 | 2 |
"""
DIFFERENCE = "--- a/one.py\n+++ b/one.py\n@@ -1 +1 @@\n-old\n+new\u202e"
DIRTY = "\x1b[31mred\x1b]0;title\x07 \u202eevil\u2066 \x9b2J \ue000\u200b end"


def blocks():
    """One of each kind, and of each the ways in which it ends."""
    yield "user", Block("user", "What is in this folder?\nAnd why?")
    yield "thinking", Block("thinking", "I should look first.\nThen I answer.")
    yield "thinking, unfinished", Block("thinking", "I should look first.\nThen I", done=False)
    yield "text", Block("text", PROSE)
    yield "text, unfinished", Block("text", "# A title\n\nSome *pro", done=False)
    ran = Block("tool", "one\ntwo\nthree\n", head="bash ls -a", args={"command": "ls -a", "lines": 3})
    ran.end(good=True, result="1.2 s")
    yield "tool, ran", ran
    yield "tool, running", Block("tool", "12 of 40\n", head="bash make", args={"command": "make"}, done=False)
    wrong = Block("tool", "no such file", head="read nope", args={"path": "nope"})
    wrong.end(good=False, result="failed")
    yield "tool, failed", wrong
    yield "error", Block("error", "the provider is overloaded (529)\ntry again later")
    yield "note", Block("note", "now answering: openai/any")
    yield "asked, a difference", Block("asked", head="edit one.py", diff=DIFFERENCE, done=False)
    allowed = Block("asked", head="bash git push", args={"command": "git push\nand more"})
    allowed.end(good=True, result="allowed, in this session")
    yield "asked, allowed", allowed


def drawn(strips):
    """Rows as text, and below each the styles of its parts."""
    out = []
    for strip in strips:
        out.append(strip.text.rstrip())
        styles = [f"{s.text.strip()[:20]!r} {s.style}" for s in strip if s.style and s.text.strip()]
        out += [f"    ~ {', '.join(styles)}"] if styles else []
    return "\n".join(out)


@pytest.mark.smoke
def test_every_block_looks_as_it_was_looked_at_closed_and_open(snapshot):
    told = []
    for name, block in blocks():
        for state in (False, True):
            block.open = state
            told.append(f"=== {name}, {'open' if state else 'closed'}\n{drawn(rows(block, 48))}")
            assert state or len(rows(block, 48)) == estimate(block, 48) == 1
    snapshot("blocks.txt", "\n".join(told) + "\n")


@given(st.text() | st.just(DIRTY))
def test_nothing_that_a_terminal_obeys_or_that_turns_text_around_is_drawn(text):
    for kind in ("user", "thinking", "text", "tool", "error", "note", "asked"):
        for done in (True, False):
            block = Block(
                kind, text, head=one_line(text, 300), args={"a": text, text: 1} if kind == "tool" else None, done=done
            )
            for state in (False, True):
                block.open = state
                shown = "".join(strip.text for strip in rows(block, 40))
                assert prose(shown) == shown and "\n" not in shown


def test_what_is_written_with_joiners_stays_readable():
    assert prose("👩\u200d🚀 ❤\ufe0f نمی\u200cخواهم") == "👩\u200d🚀 ❤\ufe0f نمی\u200cخواهم"
    assert prose("a\u202eb\x1bc\rd\r\ne") == "a\\u202eb\\x1bc\\rd\ne"


@given(st.lists(st.text(alphabet="ab \n\r\t*#", max_size=9)), st.integers(4, 30))
def test_a_text_that_arrives_is_wrapped_as_the_whole_text(pieces, width):
    growing, text = Growing(width), ""
    for piece in pieces:
        text += piece
        grown = [strip.text for strip in growing.rows(text)]
    if pieces:
        assert grown == [strip.text for strip in Growing(width).rows(text)]
