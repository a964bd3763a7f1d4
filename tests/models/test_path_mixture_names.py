"""A path mixture that reads the words of names."""

import torch

from models.small_path_mixture import SMALL, fit_of
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.model import PathMixture
from titer.models.path_mixture.names import phrases_of, words_of


def test_a_name_has_words_and_phrases():
    assert words_of("Police_(South Sudan)") == ["police", "south", "sudan", "(south sudan)"]
    assert phrases_of("Police_(South Sudan)") == ["police", "(south sudan)"]
    assert phrases_of("Angela Merkel") == ["angela merkel"]


def named(*names: str, **settings) -> tuple[PathMixture, Vocabulary]:
    """A model prepared with facts between all but the last of the entities."""
    vocabulary = Vocabulary(names, ["meet"])
    torch.manual_seed(0)
    model = PathMixture(vocabulary, TimeAxis(), PathMixtureConfig(**{**SMALL, **settings})).eval()
    model.prepare(Facts.from_rows([(i, 0, i + 1, 0) for i in range(len(names) - 2)]), Facts.empty())
    return model, vocabulary


def test_an_unseen_entity_has_the_embeddings_of_the_known_words_in_its_name():
    model, vocabulary = named("Police (Chad)", "Army (Chad)", "Police (Mali)", "Army (Mali)")
    names_part = fit_of(model).names
    assert names_part is not None
    police_chad, army_chad, police_mali, army_mali = names_part(names_part.bags_of(vocabulary).bags(torch.arange(4)))
    torch.testing.assert_close(army_mali - police_mali, army_chad - police_chad)
    assert bool((army_mali != 0).any())


def test_words_that_do_not_occur_in_training_have_no_embedding():
    model, vocabulary = named("Police (Chad)", "Army (Chad)", "Opposition")
    names_part = fit_of(model).names
    assert names_part is not None
    assert bool((names_part(names_part.bags_of(vocabulary).bags(torch.arange(3)))[2] == 0).all())
    larger = Vocabulary([*vocabulary.entities, "Army (Niger)", "Fishermen"], vocabulary.relations)
    bags = names_part.bags_of(larger).bags(torch.tensor([3, 4]))
    assert [bool((row != 0).any()) for row in names_part(bags)] == [True, False]


def test_without_names_the_scores_do_not_depend_on_them():
    history = Facts.from_rows([(0, 0, 1, 0), (1, 0, 2, 1)])
    scores = []
    for names in (("Police (Chad)", "Army (Chad)", "Chad"), ("a", "b", "c")):
        model, vocabulary = named(*names, names=False)
        with torch.inference_mode():
            scores.append(model.score(Queries.one(0, 0, 2), History(history, vocabulary)))
    assert torch.equal(*scores)


def test_a_model_can_be_trained_after_scoring_in_inference_mode():
    model, vocabulary = named("Police (Chad)", "Army (Chad)", "Chad")
    facts = Facts.from_rows([(0, 0, 1, 0), (1, 0, 2, 1)])
    history = History(facts, vocabulary)
    with torch.inference_mode():
        model.score(Queries.one(0, 0, 2), history)
    model.training_step(*Queries.from_facts(facts, vocabulary), history).loss.backward()
