"""The user interface contract: a front end asks a person and shows texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from ..errors import SkillKitError, UsageError
from ..fields import check_fields
from ..frozen import EMPTY, FrozenDict
from .approver import ApprovalDecision

__all__ = [
    "AnswerValue", "Answers", "Deferred", "NoticeLevel", "QuestionKind", "Survey", "SurveyOption", "SurveyQuestion",
    "UserInterface",
]  # fmt: skip

AnswerValue: TypeAlias = str | bool | tuple[str, ...]
QuestionKind: TypeAlias = Literal["choice", "choices", "text", "confirm", "secret"]
NoticeLevel: TypeAlias = Literal["info", "warning", "error"]


class Deferred(SkillKitError):
    """A user interface puts a survey off, because nobody is there to answer."""


@dataclass(frozen=True, slots=True)
class SurveyOption:
    """One option of a question.

    Attributes:
        label: text that a person reads.
        description: meaning of the option.
        value: value in the answer; default: the label.

    Raises:
        UsageError: a value is of a wrong type, or there is no label.
    """

    label: str
    description: str = ""
    value: str = ""

    def __post_init__(self) -> None:
        check_fields(self, "option")
        if not self.label:
            raise UsageError("an option has no label")
        object.__setattr__(self, "value", self.value or self.label)


@dataclass(frozen=True, slots=True)
class SurveyQuestion:
    """One question of a survey.

    Attributes:
        id: name of the answer, unique in the survey.
        text: text that a person reads.
        kind: ``text`` is answered by a str, ``secret`` by a str that nobody shows or keeps, ``confirm`` by a bool, ``choice``
            by the value of an option, ``choices`` by a tuple of such values.
        options: options to choose from (``choice``, ``choices``).
        default: answer where a person gives none.
        required: a survey without an answer to the question, and without a default for it, is not answered.

    Raises:
        UsageError: a value is of a wrong type, or does not fit the kind.
    """

    id: str
    text: str
    kind: QuestionKind = "text"
    options: tuple[SurveyOption, ...] = ()
    default: AnswerValue | None = None
    required: bool = True

    def __post_init__(self) -> None:
        of = f"question {self.id!r}"
        check_fields(self, of)
        if not self.id:
            raise UsageError("a question has no id")
        object.__setattr__(self, "options", tuple(self.options))
        default: Any = self.default
        if isinstance(default, list):
            object.__setattr__(self, "default", tuple(default))
        if bool(self.options) != (self.kind in ("choice", "choices")):
            raise UsageError(f"{of}: a question of kind {self.kind} {'has no' if self.options else 'needs'} options")
        if len({option.value for option in self.options}) < len(self.options):
            raise UsageError(f"{of}: two options have the same value")
        if self.kind == "secret" and self.default is not None:
            raise UsageError(f"{of}: a secret has no default")
        if self.default is not None and (problem := self.problem(self.default)):
            raise UsageError(f"{of}: the default {problem}")

    def problem(self, value: Any) -> str | None:
        """Return what is wrong with an answer, as words that follow ``the answer``, or ``None`` when the answer fits."""
        if self.kind == "confirm":
            return None if isinstance(value, bool) else "must be yes or no"
        if self.kind in ("text", "secret"):
            return None if isinstance(value, str) and (value or not self.required) else "must be a text"
        known = [option.value for option in self.options]
        if self.kind == "choice":
            return None if isinstance(value, str) and value in known else f"must be one of {', '.join(known)}"
        given = value if isinstance(value, (tuple, list)) else (None,)
        if len(set(map(str, given))) < len(given) or any(one not in known for one in given):
            return f"must be some of {', '.join(known)}, each once"
        return None if given or not self.required else "must be at least one"


@dataclass(frozen=True, slots=True)
class Survey:
    """Questions that a person is asked together.

    Attributes:
        title: topic of the questions, a few words.
        text: facts that a person should know before answering.
        questions: at least one.

    Raises:
        UsageError: a value is of a wrong type, there is no question, or two have one id.
    """

    title: str
    text: str = ""
    questions: tuple[SurveyQuestion, ...] = ()

    def __post_init__(self) -> None:
        of = f"survey {self.title!r}"
        check_fields(self, of)
        object.__setattr__(self, "questions", tuple(self.questions))
        ids = [question.id for question in self.questions]
        if not ids:
            raise UsageError(f"{of} has no questions")
        if twice := [name for name in ids if ids.count(name) > 1]:
            raise UsageError(f"{of}: two questions have the id {twice[0]!r}")

    def answer(self, given: Mapping[str, Any]) -> Answers:
        """Return the answers that a person gave, checked, with defaults for questions without an answer.

        Args:
            given: answers by id of the question; ``None``: not answered.

        Raises:
            UsageError: an answer does not fit its question, is missing, or belongs to no question.
        """
        answers: dict[str, AnswerValue] = {}
        for question in self.questions:
            value = question.default if given.get(question.id) is None else given[question.id]
            if value is None:
                if question.required:
                    raise UsageError(f"question {question.id!r} has no answer")
                continue
            if problem := question.problem(value):
                raise UsageError(f"question {question.id!r}: the answer {problem}")
            answers[question.id] = tuple(value) if isinstance(value, list) else value
        ids = {question.id: question.kind for question in self.questions}
        if unknown := sorted(set(given) - set(ids)):
            raise UsageError(f"survey {self.title!r} has no question {unknown[0]!r}", hint=f"known: {', '.join(ids)}")
        return Answers(answers, frozenset(name for name, kind in ids.items() if kind == "secret"))

    def to_dict(self) -> dict[str, Any]:
        """Return the survey as JSON, without empty fields."""
        questions = []
        for q in self.questions:
            told: dict[str, Any] = {"id": q.id, "text": q.text, "kind": q.kind, "required": q.required}
            if q.options:
                told["options"] = [asdict(option) for option in q.options]
            if q.default is not None:
                told["default"] = list(q.default) if isinstance(q.default, tuple) else q.default
            questions.append(told)
        return {"title": self.title, "text": self.text, "questions": questions}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Survey:
        """Return the survey that :meth:`to_dict` wrote.

        Raises:
            UsageError: ``data`` are no survey.
        """
        try:
            questions = [
                SurveyQuestion(**{**question, "options": tuple(SurveyOption(**o) for o in question.get("options", ()))})
                for question in data["questions"]
            ]
            return cls(data["title"], data.get("text", ""), tuple(questions))
        except (KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"these data are no survey: {error!r}") from None


@dataclass(frozen=True, slots=True, eq=False)
class Answers(Mapping[str, AnswerValue]):
    """The answers of a person, by id of the question. Questions without an answer are missing.

    Attributes:
        given: the answers. ``repr`` does not show them.
        secret: ids of answers that nobody may show or keep.

    Raises:
        UsageError: an answer is neither a str nor a bool nor a tuple of str.
    """

    given: Mapping[str, AnswerValue] = field(default=EMPTY, repr=False)
    secret: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        check_fields(self, "answers")
        given: Mapping[str, Any] = self.given
        checked = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
        for name, value in checked.items():
            texts = value if isinstance(value, tuple) else ()
            if not isinstance(value, (str, bool, tuple)) or not all(isinstance(text, str) for text in texts):
                raise UsageError(
                    f"answers: {name} is of type {type(value).__name__}; it must be a str, bool or tuple of str"
                )
        object.__setattr__(self, "given", FrozenDict(checked))

    def __getitem__(self, question_id: str) -> AnswerValue:
        return self.given[question_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.given)

    def __len__(self) -> int:
        return len(self.given)

    def to_dict(self) -> dict[str, Any]:
        """Return the answers as JSON, without those to secret questions."""
        shown = {name: value for name, value in self.given.items() if name not in self.secret}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in shown.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Answers:
        """Return the answers that :meth:`to_dict` wrote; raise :class:`UsageError` for other data."""
        return cls(data)


class UserInterface(ABC):
    """Asks a person and shows texts. A front end implements this class, and passes an instance as ``AgentConfig.ui``.

    Only a front end prints, or reads what a person types. Tools run side by side, so calls may come at the same time: a front
    end shows one survey after the other.
    """

    @abstractmethod
    async def ask(self, survey: Survey) -> Answers | None:
        """Ask a person, and return the answers as :meth:`Survey.answer` makes them, ``None`` when the person declines.

        The call is cancelled when the run is aborted. Then remove the survey.

        Raises:
            Deferred: nobody is there to answer; :meth:`ToolContext.ask` says what comes of it.
        """

    async def decide(self, question: str, survey: Survey) -> ApprovalDecision:
        """Ask the survey of a tool call, which is kept as ``question``; return what came of it, and from whom, if known."""
        try:
            answers = await self.ask(survey)
        except Deferred as error:
            return ApprovalDecision("defer", error.message)
        return ApprovalDecision("deny", "declined") if answers is None else ApprovalDecision("allow", answer=answers)

    @abstractmethod
    async def notify(self, text: str, level: NoticeLevel = "info") -> None:
        """Show a text without waiting, and without failing where nobody looks."""
