"""Sources by the tools of the agent: files by ``grep`` and ``read``, the web by ``web_search`` and ``web_fetch``.

Each search and each page is a tool call of the run: permissions, approvals, robots.txt and the books are those of any call, and a
resumed run gets the results that its session holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import SplitResult, urldefrag, urljoin, urlsplit

from skillkit_skills import WordIndex

from skillkit_core.messages import Outcome, ToolCall, ToolResultMessage

from .budget import Budget, BudgetSpent
from .passages import pieces_of, query_words, words_of

if TYPE_CHECKING:
    from skillkit_core import DrivenRun

    from .evidence import Evidence
    from .modes import Mode

__all__ = ["LOCAL", "WEB", "Gatherer", "addresses_in"]

LOCAL = ("grep", "read")
WEB = ("web_search", "web_fetch")
REFUSED = (Outcome.denied, Outcome.blocked)
TERMS = 6  # words of a query that files are searched for
NAMED = 12  # files and addresses of a request that are read
TOGETHER = 4  # pages of a crawl that are fetched at once
_COUNT = re.compile(r"(.*): (\d+)\Z")
_READ = re.compile(r" *(\d+)\t(.*)\Z")
_GREP = re.compile(r"(\d+)[:-](.*)\Z")
_ON = re.compile(r"\[lines \d+-\d+ of \d+; go on with offset=\d+\]\Z")
_PAGE_ON = re.compile(r"\n\n\[characters 0 to (\d+) of (\d+); go on with offset \d+\]\Z")
_PATH = re.compile(r"[^\s\"'`<>()\[\],;]+")
_ADDRESS = re.compile(r"https?://[^\s\"'`<>()\[\]]+", re.I)
_LINK = re.compile(r"\]\(<?([^)\s>]+)")
_NO_PAGE = re.compile(
    r"\.(png|jpe?g|gif|webp|svg|ico|css|js|mjs|woff2?|zip|gz|tgz|tar|7z|pdf|mp[34]|avi|mov|exe|dmg|iso)\Z", re.I
)


class Hit(NamedTuple):
    """An address that a search gave."""

    url: str
    title: str


def addresses_in(text: str) -> list[str]:
    """Return the addresses of web pages that a text names, each once."""
    found = (match.rstrip(".,;:!?") for match in _ADDRESS.findall(text))
    return list(dict.fromkeys(urldefrag(url)[0] for url in found))[:NAMED]


class Gatherer:
    """Finds sources for a task, within its budget.

    Attributes:
        notices: what could not be had, in words, each once.
        denied: names of tools whose calls were refused.
        used: names of tools whose calls gave something.
        searched: the queries that were searched for.
    """

    def __init__(
        self, run: DrivenRun, mode: Mode, evidence: Evidence, budget: Budget, hosts: Sequence[Sequence[str]],
        steer: Callable[[], None],
    ) -> None:  # fmt: skip
        self._run, self._mode, self._evidence, self._budget = run, mode, evidence, budget
        self._steer = steer
        self._hosts = [tuple(one) for one in hosts if one]
        self.notices: dict[str, None] = {}
        self.denied: dict[str, None] = {}
        self.used: dict[str, None] = {}
        self.searched: dict[str, None] = {}

    async def call(self, *calls: ToolCall) -> tuple[ToolResultMessage, ...]:
        """Make calls at once, and keep in words what was refused or failed.

        Raises:
            BudgetSpent: the budget has no room for all of them; none is made.
        """
        if not calls:
            return ()
        self._budget.require(calls=len(calls))
        self._budget.calls += len(calls)
        results = list(await self._run.call(*calls))
        skipped = [i for i, result in enumerate(results) if result.outcome is Outcome.skipped]
        if skipped:
            self._steer()  # a person said something: the calls that had not begun are made now
            for place, again in zip(skipped, await self._run.call(*(calls[i] for i in skipped)), strict=True):
                results[place] = again
        for call, result in zip(calls, results, strict=True):
            if result.outcome in REFUSED:
                self.denied.setdefault(call.name)
            if result.is_error:
                self.notices.setdefault(f"{call.name} {_about(call.args)}: {_first_line(result.text)}")
            else:
                self.used.setdefault(call.name)
        return tuple(results)

    def _room(self) -> None:
        if self._evidence.full:
            raise BudgetSpent(f"sources {len(self._evidence.sources)} of {self._mode.budget.sources}")

    # --- files ----------------------------------------------------------------------------------------------------

    async def named_files(self, request: str) -> None:
        """Read the files of the workspace that a request names."""
        root = self._run.agent.cwd.resolve()
        found: dict[str, None] = {}
        for word in _PATH.findall(request):
            name = word.rstrip(".!?:")
            if "://" in name or not ("." in name or "/" in name):
                continue
            try:
                file = (root / name).resolve()
                inside = file.is_relative_to(root) and file.is_file()
            except (OSError, ValueError):
                continue
            if inside:
                found.setdefault(str(file.relative_to(root)))
        await self._read(list(found)[:NAMED], ())

    async def search_files(self, queries: Iterable[str]) -> None:
        """Search the files of the workspace, and read the best ones of each query."""
        for query in queries:
            self._room()
            words = query_words(query, TERMS)
            counts = await self.call(*(_grep(word) for word in words))
            files: dict[str, list[str]] = {}
            for word, result in zip(words, counts, strict=True):
                for line in () if result.is_error else result.text.splitlines():
                    if (row := _COUNT.match(line)) is not None:
                        files.setdefault(row[1], []).extend([word] * min(int(row[2]), 8))
            names = list(files)
            index = WordIndex([(2.0, 0.0), (1.0, 0.2)], ((words_of(name), files[name]) for name in names))
            best = [names[number] for number, _ in index.search(words, self._mode.results)]
            await self._read(best, words)

    async def _read(self, paths: Sequence[str], words: Sequence[str]) -> None:
        """Read files; of one that is too long for a call, the lines around the words."""
        fresh = [path for path in paths if not self._evidence.has(path)]
        results = await self.call(*(ToolCall("", "read", {"path": path}) for path in fresh))
        for path, result in zip(fresh, results, strict=True):
            text = result.text
            if result.is_error or text == "(the file is empty)":
                continue
            lines, form = text.splitlines(), _READ
            if lines and _ON.match(lines[-1]):
                (around,) = await self.call(_around(path, words)) if words else (None,)
                if around is not None and not around.is_error:
                    lines, form = around.text.splitlines()[1:], _GREP
                else:
                    self.notices.setdefault(f"{path}: only its beginning was read {lines[-1]}")
            rows = (form.match(line) for line in lines)
            await self._evidence.add("file", path, pieces_of((int(row[1]), row[2]) for row in rows if row is not None))

    # --- the web --------------------------------------------------------------------------------------------------

    async def named_pages(self, request: str) -> None:
        """Fetch the pages that a request names."""
        await self._fetch([Hit(url, "") for url in addresses_in(request)])

    async def search_web(self, queries: Iterable[str]) -> None:
        """Search the web, and fetch the best pages of each query."""
        for query in queries:
            if "web_search" in self.denied:
                return  # who said no is not asked for every query
            self._room()
            wanted = {"query": query[:400], "limit": min(20, self._mode.results * 2)}
            (result,) = await self.call(ToolCall("", "web_search", wanted))
            details = result.details if isinstance(result.details, Mapping) else {}
            hits = [] if result.is_error else [_hit(one) for one in details.get("hits") or ()]
            await self._fetch([hit for hit in hits if hit.url][: self._mode.results])

    async def _fetch(self, hits: Sequence[Hit]) -> list[tuple[str, str]]:
        """Fetch pages that are not known; return the address that answered, and the text, of each."""
        fresh = [hit for hit in hits if not self._evidence.has(hit.url) and self._may(hit.url)]
        found = []
        results = await self.call(*(ToolCall("", "web_fetch", {"url": hit.url}) for hit in fresh))
        for hit, result in zip(fresh, results, strict=True):
            if result.is_error:
                continue
            details = result.details if isinstance(result.details, Mapping) else {}
            url, title = str(details.get("url") or hit.url), str(details.get("title") or hit.title)
            text = result.text.partition("\n\n")[2]
            if (cut := _PAGE_ON.search(text)) is not None:
                text = text[: cut.start()]
                self.notices.setdefault(f"{url}: only its beginning was read, {cut[1]} characters of {cut[2]}")
            await self._evidence.add("page", url, pieces_of((0, line) for line in text.splitlines()), title)
            found.append((url, text))
        return found

    def _may(self, url: str) -> bool:
        """Return whether the allow-lists have the host of an address; say so where they do not."""
        host = (_split(url).hostname or "").rstrip(".")
        if host and all(any(_matches(host, pattern) for pattern in one) for one in self._hosts):
            return True
        self.notices.setdefault(f"{host or url}: the host is not one of those that research may fetch from")
        return False

    async def crawl(self, starts: Sequence[str]) -> None:
        """Read the pages of the sites of ``starts``, nearest first, as many as the mode says."""
        sites = {_site(url) for url in starts}
        waiting = [(url, 0) for url in starts]
        seen = set(starts)
        left = self._mode.pages
        while waiting and left > 0:
            self._room()
            batch, waiting = waiting[: min(TOGETHER, left)], waiting[min(TOGETHER, left) :]
            left -= len(batch)
            depths = dict(batch)
            for url, text in await self._fetch([Hit(url, "") for url, _ in batch]):
                depth = depths.get(url, max(depths.values()))
                for link in links_of(url, text) if depth < self._mode.depth else ():
                    if link not in seen and _site(link) in sites and not _NO_PAGE.search(_split(link).path):
                        seen.add(link)
                        waiting.append((link, depth + 1))
        if waiting:
            more = f"{len(waiting)} more page{'s' if len(waiting) > 1 else ''} of the site"
            self.notices.setdefault(f"{more} were not read: the mode reads {self._mode.pages}")


def links_of(url: str, text: str) -> list[str]:
    """Return the addresses of the links of a page that is Markdown, each once."""
    found = (urldefrag(urljoin(url, link))[0] for link in _LINK.findall(text))
    return list(dict.fromkeys(link for link in found if link.lower().startswith(("http://", "https://"))))


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", "", "", "")


def _site(url: str) -> str:
    return _split(url).netloc.lower().removeprefix("www.")


def _matches(host: str, pattern: str) -> bool:
    wanted = pattern.lower().rstrip(".")
    below = wanted.removeprefix("*")
    return host.endswith(below) if below != wanted else host == wanted


def _hit(found: Any) -> Hit:
    if not isinstance(found, Mapping):
        return Hit("", "")
    return Hit(urldefrag(str(found.get("url") or ""))[0], str(found.get("title") or ""))


def _pattern(word: str) -> str:
    """Return the expression for a word: its beginning, so that plurals and endings are found, too."""
    return rf"\b{word}" if word.isascii() else word


def _grep(word: str) -> ToolCall:
    wanted = {"pattern": _pattern(word), "ignore_case": True, "output": "count", "limit": 2_000}
    return ToolCall("", "grep", wanted)


def _around(path: str, words: Sequence[str]) -> ToolCall:
    pattern = "|".join(map(_pattern, words))
    return ToolCall("", "grep", {"pattern": pattern, "path": path, "ignore_case": True, "context": 3, "limit": 60})


def _about(args: Mapping[str, Any] | None) -> str:
    args = args or {}
    return str(args.get("url") or args.get("path") or args.get("query") or args.get("pattern") or "")[:200]


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:300]
