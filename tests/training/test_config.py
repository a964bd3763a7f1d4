from pathlib import Path

import pytest
import torch

from titer.errors import ConfigError, UnknownNameError
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.registry import model_class
from titer.runs.reproduce import configurations, find_configuration
from titer.training.config import Config, TrainingConfig


def test_overrides_replace_settings_of_the_file(tmp_path: Path):
    file = tmp_path / "config.toml"
    file.write_text('[model]\nname = "random_walk"\nnum_edges = 7\n[training]\nepochs = 3\nlearning_rate = 1\n')
    config = Config.load(file, overrides=["training.epochs=6", "model.num_walks = 9", "training.device=cpu"])
    assert config.model_name == "random_walk"
    assert (config.model.num_edges, config.model.num_walks, config.model.num_hops) == (7, 9, 3)
    assert config.training == TrainingConfig(epochs=6, learning_rate=1.0, device="cpu")


def test_a_configuration_is_equal_after_writing_and_reading():
    config = Config.load(model="recurrency", overrides=["model.decays=[1, 2.5]", "training.seed=7"])
    assert Config.from_dict(config.to_dict()) == config


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.epoch=6", "did you mean 'training.epochs'"),
        ("training.epochs=many", "training.epochs must be a whole number, not 'many'"),
        ("training.epochs=1.5", "must be a whole number"),
        ("training.epochs=true", "must be a whole number"),
        ("training.learning_rate=fast", "must be a number"),
        ("training.epochs=-1", "must be at least 0, not -1"),
        ("training.batch_size=0", "must be positive"),
        ("model.decays=3", "must be a list of numbers"),
        ("model.decays=[]", "must not be empty"),
        ("training.batch_size=0.5", "must be a whole number"),
        ("training.learning_rate_schedule=cosine", "must be one of constant, linear, triangle, not 'cosine'"),
        ("training.seed=2147483648", "training.seed must be at most 2147483647"),
        ("training.device=1", "training.device must be a string"),
        ("model.preset=paper", "unknown preset 'paper'; choose from none"),
        ("model.colour=red", "unknown setting 'model.colour'"),
        ("training.foo=2", "unknown setting 'training.foo'; choose from epochs, "),
        ("trainig.epochs=1", "did you mean 'training'"),
        ("epochs=1", "overrides have the form TABLE.KEY=VALUE"),
        ("training.epochs", "overrides have the form TABLE.KEY=VALUE"),
    ],
)
def test_wrong_settings_are_rejected_with_a_reason(override: str, message: str):
    with pytest.raises(ConfigError, match=message.replace("[", r"\[")):
        Config.load(model="recurrency", overrides=[override])


def test_a_file_for_another_model_is_rejected(tmp_path: Path):
    file = tmp_path / "config.toml"
    file.write_text('[model]\nname = "random_walk"\n')
    with pytest.raises(ConfigError, match="not for 'recurrency'"):
        Config.load(file, "recurrency")


def test_unknown_models_and_broken_files_are_rejected(tmp_path: Path):
    with pytest.raises(UnknownNameError, match="recurrency"):
        Config.load(model="recurency")
    broken = tmp_path / "broken.toml"
    broken.write_text("[model\n")
    with pytest.raises(ConfigError, match=r"broken\.toml"):
        Config.load(broken)
    with pytest.raises(ConfigError, match=r"missing\.toml"):
        Config.load(tmp_path / "missing.toml")


def test_a_model_has_training_defaults_of_its_own():
    config = Config.load(overrides=["training.epochs=2"])
    assert config.model_name == "path_mixture"
    assert config.training.epochs == 2
    assert config.training.learning_rate_schedule == "triangle"
    assert Config.load(model="titer").training == TrainingConfig()


@pytest.mark.parametrize(
    ("num_facts", "epochs", "learning_rate"),
    [
        (10, 6, 0.002),
        (20_000, 6, 0.002),
        (32_000, 4, 0.002),
        (42_000, 3, 0.008 / 3),
        (63_685, 2, 0.004),
        (10**7, 2, 0.004),
    ],
)
def test_more_facts_are_trained_on_in_fewer_epochs_with_a_higher_learning_rate(
    num_facts: int, epochs: int, learning_rate: float
):
    training = Config.load(model="path_mixture", overrides=["training.device=cpu"]).for_facts(num_facts).training
    assert training == TrainingConfig(
        epochs=epochs,
        learning_rate=learning_rate,
        learning_rate_schedule="triangle",
        clip_gradient=5.0,
        device="cpu",
    )


@pytest.mark.parametrize(
    ("num_facts", "given", "batch_size"),
    [
        (None, {}, 512),
        (10, {}, 512),
        (373_018, {}, 512),
        (767_999, {}, 512),
        (768_000, {}, 1024),
        (1_600_000, {}, 2048),
        (10**7, {}, 4096),
        (10**9, {}, 4096),
        (767_999, {"epochs": 4}, 1024),
        (10, {"epochs": 0}, 512),
    ],
)
def test_a_gpu_trains_on_larger_batches_of_many_facts(num_facts: int | None, given: dict[str, int], batch_size: int):
    """At least 3,000 optimisation steps, as far as 512 queries of each step allow."""
    assert model_class("path_mixture").training_defaults(given, num_facts, "cuda")["batch_size"] == batch_size
    assert "batch_size" not in model_class("path_mixture").training_defaults(given, num_facts, "cpu")


def test_the_default_batch_size_is_that_of_the_device(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("titer.training.device.choose_device", lambda name: torch.device("cuda"))
    assert Config.load(model="path_mixture").for_facts(10**7).training.batch_size == 4096
    given = Config.load(model="path_mixture", overrides=["training.batch_size=64"]).for_facts(10**7)
    assert given.training.batch_size == 64


def test_given_settings_do_not_depend_on_the_number_of_facts():
    given = Config.load(model="path_mixture", overrides=["training.epochs=3"]).for_facts(10**6).training
    assert (given.epochs, given.learning_rate) == (3, pytest.approx(0.008 / 3))
    given = Config.load(model="path_mixture", overrides=["training.learning_rate=0.01"]).for_facts(10**6).training
    assert (given.epochs, given.learning_rate) == (2, 0.01)
    other = Config.load(model="ttranse")
    assert other.for_facts(10**6) == other
    direct = Config("path_mixture", PathMixtureConfig(), TrainingConfig(epochs=7))
    assert direct.for_facts(10**6) == direct
    again = Config.from_dict(Config.load(model="path_mixture").to_dict())
    assert again.for_facts(10**6) == again


def test_published_configurations_do_not_depend_on_the_number_of_facts():
    names = [name for name in configurations() if name.startswith("path_mixture/")]
    assert len(names) >= 4
    for name in names:
        config = Config.load(find_configuration(name))
        assert config.for_facts(10**6) == config
