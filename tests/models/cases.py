"""Tests that every model must pass. A new model gets them by subclassing ``ModelCase``."""

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from strategies import LAST_TIME, Graph, graphs
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.evaluation.evaluate import evaluate
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, Model
from titer.models.evidence import Edge
from titer.models.registry import model_class
from titer.runs.run import Run
from titer.runs.train import train
from titer.training.config import Config


class ModelCase:
    name: ClassVar[str]
    settings: ClassVar[dict[str, Any]] = {}
    training: ClassVar[dict[str, Any]] = {}
    least_mrr: ClassVar[float]
    """Minimum MRR on the recurring facts of the small world."""
    explains: ClassVar[bool] = True
    """Whether the model implements ``explain``."""
    explains_by_other_relations: ClassVar[bool] = True
    """Whether its evidence includes facts of other relations than the query's."""
    shares_sum_to_one: ClassVar[bool] = False
    least_score: ClassVar[float] = UNREACHED
    """Lower scores count as equal on CPU and GPU: rounding decides which of two improbable walks a beam drops."""

    @classmethod
    def config(cls) -> Config:
        return Config.from_dict({"model": dict(cls.settings), "training": dict(cls.training)}, cls.name)

    def make(self, graph: Graph, train: Facts) -> Model:
        """A prepared model with random weights, none of them zero."""
        torch.manual_seed(0)
        model = model_class(self.name)(graph.vocabulary, TimeAxis(), self.config().model)
        model.prepare(train, Facts.empty())
        with torch.no_grad():
            for parameter in model.parameters():  # parameters that begin at 0 would hide what they are multiplied by
                parameter.add_(0.3 * torch.randn_like(parameter))
        return model.eval()

    @pytest.fixture(scope="class")
    @classmethod
    def run(cls, world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Run:
        return train(world_data, cls.config(), tmp_path_factory.mktemp("runs") / cls.name)

    def queries(self, dataset: Dataset) -> tuple[Queries, torch.Tensor]:
        return Queries.from_facts(dataset.test, dataset.vocabulary)

    @pytest.mark.slow
    def test_learns_recurring_facts(self, run, world):
        found = evaluate(run.load_model("cpu"), world.dataset, "test")
        kinds = world.kinds[-len(world.dataset.test) :] * 2
        recurring = torch.tensor([kind == "recurring" for kind in kinds])
        assert float((1 / found.ranks_under()[recurring]).mean()) >= self.least_mrr

    def test_explains_is_true_if_the_model_implements_explain(self):
        assert model_class(self.name).explains() == self.explains

    @pytest.mark.slow
    def test_scores_do_not_depend_on_the_batch(self, run, world_data):
        model = run.load_model("cpu")
        history = History(world_data.facts, world_data.vocabulary)
        queries, _ = self.queries(world_data)
        queries = queries[::7]
        whole = model.score(queries, history)
        parts = torch.cat([model.score(part, history) for _, part in queries.batches(5)])
        torch.testing.assert_close(whole, parts, rtol=1e-4, atol=1e-6)

    @pytest.mark.slow
    @given(graph=graphs(), time=st.integers(-2, LAST_TIME), seed=st.integers(0, 9))
    def test_facts_at_or_after_the_time_of_the_query_do_not_change_its_scores(self, graph: Graph, time: int, seed: int):
        past = graph.facts.before(time)
        model = self.make(graph, train=past)
        entities = torch.arange(graph.vocabulary.num_entities)
        relation = torch.full_like(entities, seed % graph.vocabulary.num_directed_relations)
        queries = Queries(entities, relation, torch.full_like(entities, time))
        with torch.inference_mode():
            with_future = model.score(queries, History(graph.facts, graph.vocabulary))
            past_only = model.score(queries, History(past, graph.vocabulary))
        torch.testing.assert_close(with_future, past_only, rtol=1e-5, atol=1e-6)

    @pytest.mark.slow
    @given(graph=graphs(), time=st.integers(-2, LAST_TIME), seed=st.integers(0, 9))
    def test_entities_added_at_or_after_the_time_of_the_query_do_not_change_its_scores(
        self, graph: Graph, time: int, seed: int
    ):
        model = self.make(graph, train=graph.facts.before(time))
        num_old = graph.vocabulary.num_entities
        larger = Vocabulary([*graph.vocabulary.entities, "Added", "Added later"], graph.vocabulary.relations)
        later = Facts.from_rows([(num_old, 0, 0, time), (0, 0, num_old + 1, time + 1), (num_old, 0, num_old, time)])
        entities = torch.arange(larger.num_entities)  # the added ones too
        relation = torch.full_like(entities, seed % larger.num_directed_relations)
        queries = Queries(entities, relation, torch.full_like(entities, time))
        with torch.inference_mode():
            before = model.score(queries[:num_old], History(graph.facts, graph.vocabulary))
            after = model.score(queries, History(Facts.concatenate(graph.facts, later), larger))
        # With two more queries in the batch, sums in single precision may be rounded differently.
        torch.testing.assert_close(after[:num_old, :num_old], before, rtol=1e-4, atol=1e-4)
        assert bool((after[:, num_old:] == UNREACHED).all())

    @pytest.mark.slow
    @given(graph=graphs(), time=st.integers(-2, LAST_TIME), seed=st.integers(0, 9))
    def test_names_of_entities_that_first_appear_at_or_after_the_time_of_the_query_do_not_change_its_scores(
        self, graph: Graph, time: int, seed: int
    ):
        past = graph.facts.before(time)
        known = past.mentions(graph.vocabulary.num_entities)
        assume(known.any())
        # The later names consist of words that training knows, so that a model which reads them cannot ignore them.
        renamed = [
            name if known[entity] else f"{graph.vocabulary.entities[(entity + seed) % len(known)]} ({name})"
            for entity, name in enumerate(graph.vocabulary.entities)
        ]
        entities = torch.from_numpy(known.nonzero()[0])  # a query names its own subject, so that name is known
        relation = torch.full_like(entities, seed % graph.vocabulary.num_directed_relations)
        queries = Queries(entities, relation, torch.full_like(entities, time))
        scores = []
        for names in (graph.vocabulary.entities, renamed):
            named = Graph(graph.facts, Vocabulary(names, graph.vocabulary.relations))
            with torch.inference_mode():
                scores.append(self.make(named, train=past).score(queries, History(named.facts, named.vocabulary)))
        torch.testing.assert_close(*scores, rtol=1e-5, atol=1e-6)

    @pytest.mark.slow
    def test_an_entity_added_after_training_can_be_subject_and_answer(self, run, world_data):
        model = run.load_model("cpu")
        old = world_data.vocabulary
        larger = Vocabulary([*old.entities, "Added"], old.relations)
        added, last = old.num_entities, int(world_data.facts.time.max())
        talks, aldoria = old.relation_ids["hold talks with"], old.entity_ids["Aldoria"]
        # Many facts, so that a model that samples walks, or keeps few of them, finds one.
        talks_each_day = Facts.from_rows([(aldoria, talks, added, last + day) for day in range(1, 21)])
        history = History(world_data.facts, old).including(talks_each_day, larger)
        queries = Queries(torch.tensor([aldoria, added]), torch.tensor([talks, talks]), torch.full((2,), last + 21))
        with torch.inference_mode():
            scores = model.score(queries, history)
            assert scores.shape == (2, larger.num_entities)
            assert not bool(torch.isnan(scores).any())
            for row, answer in ((0, added), (1, aldoria)):
                assert float(scores[row, answer]) > UNREACHED
                evidence = model.explain(queries[[row]], answer, history, 10_000)
                facts = {edge.forward(larger) for item in evidence for edge in item.path}
                if self.explains and (row == 0 or self.explains_by_other_relations):
                    assert facts & {Edge(*fact) for fact in talks_each_day}

    @pytest.mark.slow
    @given(graph=graphs(), time=st.integers(-2, LAST_TIME), seed=st.integers(0, 9))
    def test_evidence_is_a_path_of_past_facts_to_the_answer(self, graph: Graph, time: int, seed: int):
        model = self.make(graph, train=graph.facts.before(time))
        history = History(graph.facts, graph.vocabulary)
        query = Queries.one(seed % graph.vocabulary.num_entities, seed % graph.vocabulary.num_directed_relations, time)
        known = set(graph.facts.before(time))
        with torch.inference_mode():
            scores = model.score(query, history)[0]
            for answer in torch.nonzero(scores > UNREACHED)[:, 0].tolist():
                evidence = model.explain(query, answer, history, limit=10_000)
                for item in evidence:
                    here = int(query.subject)
                    for edge in item.path:
                        assert edge.subject == here
                        assert edge.forward(graph.vocabulary) in known
                        here = edge.object
                    assert not item.path or here == answer
                assert sum(item.share for item in evidence) <= 1 + 1e-4
                if self.shares_sum_to_one:
                    assert sum(item.share for item in evidence) == pytest.approx(1, abs=1e-4)
                assert [item.share for item in evidence] == sorted((i.share for i in evidence), reverse=True)

    @pytest.mark.slow
    def test_probabilities_keep_the_order_of_the_scores_and_sum_to_one(self, run, world_data):
        model = run.load_model("cpu")
        queries, _ = self.queries(world_data)
        scores = model.score(queries[:50], History(world_data.facts, world_data.vocabulary))
        found = model.probabilities(scores)
        reached = scores > UNREACHED
        torch.testing.assert_close(found.sum(dim=1), reached.any(dim=1).float())
        assert bool((found[~reached] == 0).all())
        ordered = found.gather(1, scores.argsort(dim=1, descending=True))
        assert bool((ordered.diff(dim=1) <= 0).all())

    @pytest.mark.slow
    def test_a_loaded_model_has_the_metrics_that_training_recorded(self, run, world_data):
        """Fails if anything that scoring needs is not saved with the run."""
        (recorded,) = run.evaluations
        found = evaluate(run.load_model("cpu"), world_data, recorded["split"]).to_dict()
        assert found["metrics"] == pytest.approx(recorded["metrics"], abs=1e-9)
        assert found["calibration"] == recorded["calibration"]

    @pytest.mark.slow
    def test_a_resumed_training_ends_with_the_same_weights(
        self, world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        # Equal weights need little training and validation: few time steps and queries.
        few = {"epochs": 2, "validate_every": 1, "keep": "last", "batch_size": 64, "recent_steps": 8}
        data = replace(world_data, valid=world_data.valid[:50])
        config = Config.from_dict({"model": dict(self.settings), "training": {**self.training, **few}}, self.name)
        graph = Graph(data.facts, data.vocabulary)
        if not self.make(graph, train=data.train).is_trained_by_gradients:
            pytest.skip("not trained by gradients")
        whole = train(data, config, tmp_path / "whole")
        begin_epoch = model_class(self.name).begin_epoch

        def interrupt(model: Model, epoch: int) -> None:
            if epoch == 2:
                raise KeyboardInterrupt
            begin_epoch(model, epoch)

        with monkeypatch.context() as patch:
            patch.setattr(model_class(self.name), "begin_epoch", interrupt)
            with pytest.raises(KeyboardInterrupt):
                train(data, config, tmp_path / "resumed")
        resumed = train(data, config, tmp_path / "resumed", resume=True)
        found, expected = (run.load_model("cpu").state_dict() for run in (resumed, whole))
        assert all(torch.equal(found[name], expected[name]) for name in expected)

    @pytest.mark.slow
    def test_an_empty_history_gives_scores(self, run, world_data):
        model = run.load_model("cpu")
        scores = model.score(Queries.one(0, 0, 0), History(Facts.empty(), world_data.vocabulary))
        assert scores.shape == (1, world_data.vocabulary.num_entities)
        assert not bool(torch.isnan(scores).any())

    @pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
    @pytest.mark.slow
    def test_a_gpu_gives_the_same_scores(self, run, world_data):
        history = History(world_data.facts, world_data.vocabulary)
        queries, _ = self.queries(world_data)
        on_cpu = run.load_model("cpu").score(queries, history)
        on_gpu = run.load_model("cuda").score(queries.to("cuda"), history.to("cuda")).cpu()
        on_cpu, on_gpu = (scores.clamp(min=self.least_score) for scores in (on_cpu, on_gpu))
        torch.testing.assert_close(on_cpu, on_gpu, rtol=1e-4, atol=1e-5)
