"""Action `stats`: words, lines, sentences, reading time and the most frequent words of a text file."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping

sys.dont_write_bytecode = True  # the skill's folder stays as it was installed

from command import Result, count, run, shown, table, whole  # noqa: E402
from reading import WORD, pieces  # noqa: E402

WORDS_A_MINUTE = 230  # silent reading of English prose, adults
MOST_DIFFERENT = 500_000  # words counted at once; beyond, those seen once are dropped and the result says so
SENTENCE = re.compile(r"[.!?…。！？]+(?=[\s\"'”’)\]]|$)")
COMMON = frozenset({
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because", "been",
    "but", "by", "can", "could", "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "here",
    "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "like", "me", "more", "most", "my",
    "no", "nor", "not", "now", "of", "on", "one", "only", "or", "other", "our", "out", "over", "s", "she", "so",
    "some", "such", "t", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those",
    "to", "too", "up", "us", "very", "was", "we", "were", "what", "when", "where", "which", "who", "will", "with",
    "would", "you", "your",
})  # fmt: skip


class Figures:
    """The running figures of a text."""

    def __init__(self) -> None:
        self.characters = self.lines = self.words = self.letters = self.sentences = self.paragraphs = self.longest = 0
        self.open_line = self.open_paragraph = False
        self.frequent: Counter[str] = Counter()
        self.dropped = False

    def add(self, piece: str) -> None:
        """Take in a line, or a piece of a very long one."""
        self.characters += len(piece)
        if not self.open_line:
            self.lines += 1
        self.open_line = not piece.endswith("\n")
        text = piece.rstrip("\n")
        self.longest = max(self.longest, len(text))
        if text.strip():
            self.paragraphs += not self.open_paragraph
            self.open_paragraph = True
            self.sentences += len(SENTENCE.findall(text))
        else:
            self.open_paragraph = False
        words = WORD.findall(text)
        self.words += len(words)
        self.letters += sum(map(len, words))
        self.frequent.update(word.casefold() for word in words)
        if len(self.frequent) > MOST_DIFFERENT:
            self.dropped = True
            self.frequent = Counter({word: seen for word, seen in self.frequent.items() if seen > 1})

    def top(self, number: int) -> list[tuple[str, int]]:
        """Return the most frequent words that carry meaning: no short English function words, no bare numbers."""
        telling = (
            (word, seen)
            for word, seen in self.frequent.items()
            if word not in COMMON and not word.isdigit() and len(word) > 1
        )
        return sorted(telling, key=lambda item: (-item[1], item[0]))[:number]


def reading_time(words: int) -> str:
    """Return "under a minute", "3 min", "2 h 5 min"."""
    minutes = round(words / WORDS_A_MINUTE)
    if minutes < 1:
        return "under a minute"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def stats(values: Mapping[str, str]) -> Result:
    """Read the file once and report its figures."""
    name = values["file"]
    figures = Figures()
    for piece in pieces(name):
        figures.add(piece)
    top = figures.top(min(whole(values, "top", 10, minimum=0), 1000))
    sentences = max(figures.sentences, 1) if figures.words else 0
    different = len(figures.frequent)
    lines = [
        f"{shown(name)}: {count(figures.words, 'word')}, {count(figures.lines, 'line')}, "
        f"{count(figures.characters, 'character')}",
        f"{count(sentences, 'sentence')}, {count(figures.paragraphs, 'paragraph')}, "
        f"{count(different, 'different word')}, reading time {reading_time(figures.words)}",
    ]
    if top:
        lines += ["", table(["word", "times"], [[word, f"{seen:,}"] for word, seen in top], numeric=["times"])]
    return {
        "answer": "\n".join(lines),
        "file": name,
        "words": figures.words,
        "lines": figures.lines,
        "characters": figures.characters,
        "sentences": sentences,
        "paragraphs": figures.paragraphs,
        "different_words": different,
        "different_words_exact": not figures.dropped,
        "average_word_length": round(figures.letters / figures.words, 2) if figures.words else None,
        "longest_line": figures.longest,
        "reading_minutes": round(figures.words / WORDS_A_MINUTE, 1),
        "frequent": [{"word": word, "times": seen} for word, seen in top],
    }


if __name__ == "__main__":
    sys.exit(run(stats, positional=["file"], options=["top"]))
