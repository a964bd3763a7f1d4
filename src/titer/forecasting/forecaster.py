"""The interface to a trained model: questions in words, answers in words."""

from collections.abc import Iterable, Iterator, Sequence

from titer.forecasting.batching import answer_in_batches
from titer.forecasting.changes import Change
from titer.forecasting.events.forecaster import EventForecaster
from titer.forecasting.fact_input import AnyFact
from titer.forecasting.forecast import Answer, Forecast, Unanswered
from titer.forecasting.limits import check_limit
from titer.forecasting.question import Question, When
from titer.forecasting.what_if import WhatIf, compare


class Forecaster(EventForecaster):
    """A trained model with all known facts: answers questions in words.

    The facts are those of a dataset and those added to its fact store, by this process or another. Every question is
    answered with all facts that are stored by then. A forecaster may be used from several threads.

    Example:
        >>> forecaster = Forecaster.load("runs/icews14")
        >>> print(forecaster.ask("China", "Consult", at="2014-12-31", explain=3))

    Attributes:
        model: The trained model.
        dataset: The dataset that the model was trained on.
        axis: The calendar of the dataset's time steps.
        run: The run directory that the forecaster was loaded from, or None.
    """

    def ask(
        self,
        subject: str | None,
        relation: str,
        object: str | None = None,
        *,
        at: When | None = None,
        top: int = 10,
        explain: int = 0,
        without: Sequence[AnyFact] = (),
        with_: Sequence[AnyFact] = (),
    ) -> Forecast:
        """Return the most likely objects of (subject, relation, ?), or subjects of (?, relation, object).

        Names are matched regardless of case, and any unambiguous prefix of a name is accepted. Only facts strictly
        before the time of the question are used.

        Args:
            subject: Name of the subject; None or ``"?"`` to ask for it.
            relation: Name of the relation.
            object: Name of the object; None or ``"?"`` to ask for it.
            at: The time step to forecast, as a date or number in the form of the data. None means the step after the
                last known fact.
            top: How many answers to return at most.
            explain: How many kinds of evidence to give for each answer at most. Paths that differ only in their dates
                are one kind.
            without: Facts to leave out of the history, as in ``what_if``.
            with_: Facts to add to the history, as in ``what_if``.

        Returns:
            The answers, best first.

        Raises:
            UnknownNameError: A name is unknown or ambiguous; the error has suggestions.
            DataError: The time is not a date of the dataset's kind.
            TiterError: Not exactly one of ``subject`` and ``object`` is given, ``top`` is less than 1, or ``explain``
                is negative.
        """
        question = Question(subject, relation, object, at)
        if without or with_:
            return self.what_if(question, without=without, with_=with_, top=top, explain=explain).after
        (result,) = self.ask_many([question], top=top, explain=explain)
        if isinstance(result, Unanswered):
            raise result.exception
        return result

    def ask_many(
        self,
        questions: Iterable[Question | Unanswered],
        *,
        top: int = 10,
        explain: int = 0,
        batch_size: int | None = None,
    ) -> Iterator[Forecast | Unanswered]:
        """Answer many questions in batches, with only a few batches in memory at a time.

        All questions are answered with the history as it is at the time of the call.

        Args:
            questions: The questions. ``Unanswered`` items, as ``read_questions`` yields them for rows that cannot be
                read, are passed through.
            top: How many answers to return for each question at most.
            explain: How many kinds of evidence to give for each answer at most.
            batch_size: How many questions to score at once. None for a default that depends on the device.

        Returns:
            An iterator over the results in the order of the questions. A question that cannot be answered yields an
            ``Unanswered`` with the reason and does not stop the others.

        Raises:
            TiterError: ``top`` is less than 1, or ``explain`` is negative.
        """
        check_limit("top", top, 1)
        check_limit("explain", explain, 0)
        return answer_in_batches(self._current(), questions, top=top, explain=explain, batch_size=batch_size)

    def explain(
        self,
        question: Question,
        answer: str,
        *,
        limit: int = 10,
        without: Sequence[AnyFact] = (),
        with_: Sequence[AnyFact] = (),
    ) -> Answer:
        """Return one answer to a question, whatever its rank, with its evidence.

        Args:
            question: The question.
            answer: Name of the entity to explain.
            limit: How many kinds of evidence to give at most.
            without: Facts to leave out of the history, as in ``what_if``.
            with_: Facts to add to the history, as in ``what_if``.

        Returns:
            The answer, its evidence strongest first.

        Raises:
            UnknownNameError: A name is unknown or ambiguous; the error has suggestions.
            TiterError: No earlier fact supports the answer, ``limit`` is negative, or the question is invalid.
        """
        check_limit("limit", limit, 0)
        predictor = self._current()
        if without or with_:
            predictor = predictor.on(Change.of(predictor, predictor.time_of(question), without, with_).after)
        return predictor.explain(predictor.encode(question), predictor.entities.find(answer), limit)

    def what_if(
        self,
        question: Question,
        *,
        without: Sequence[AnyFact] = (),
        with_: Sequence[AnyFact] = (),
        top: int = 10,
        explain: int = 0,
    ) -> WhatIf:
        """Answer a question with the known history, and with some facts left out of it or added to it.

        A fact is a tuple (subject, relation, object, time), a fact from a piece of evidence, or text such as
        ``"Nigeria | Consult | Muhammadu Buhari | 2018-10-01"``. All facts must be before the question's time. A fact
        to leave out may have no time, as in ``"Nigeria | Consult | Muhammadu Buhari"``: all such facts are left out.
        The fact store does not change.

        Args:
            question: The question.
            without: Facts to leave out. They must exist.
            with_: Facts to add. They may name new entities.
            top: How many answers to return at most.
            explain: How many kinds of evidence to give for each answer at most.

        Returns:
            Both forecasts, and how each answer moved.

        Raises:
            UnknownFactError: A fact to leave out does not exist; the error has suggestions.
            UnknownNameError: A name is unknown or ambiguous; the error has suggestions.
            TiterError: A fact is not before the question's time or is already known, ``top`` is less than 1,
                ``explain`` is negative, or the question is invalid.
        """
        check_limit("top", top, 1)
        check_limit("explain", explain, 0)
        predictor = self._current()
        change = Change.of(predictor, predictor.time_of(question), without, with_)
        return compare(predictor, question, change, top, explain)

    def warm_up(self) -> None:
        """Run one dummy query, so that the first real one does not wait for indexes to be built."""
        vocabulary = self._current().vocabulary
        list(self.ask_many([Question(vocabulary.entities[0], vocabulary.relations[0])]))
