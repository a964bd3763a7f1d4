"""The path mixture computed with dense matrices of queries × entities: the oracle of the sparse computation.

Every formula is written down directly, entity by entity and path by path, with the parameters of a ``Mixture``.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.graph.count_features import features, features_at, features_of, no_features
from titer.graph.history import History
from titer.graph.pair_index import Series
from titer.graph.queries import Queries
from titer.graph.sorted_edges import LAST_STEP
from titer.models.base import UNREACHED
from titer.models.path_mixture.direct import Direct
from titer.models.path_mixture.fit import Fit
from titer.models.path_mixture.frequency import Frequency
from titer.models.path_mixture.mixture import TINY, Mixture
from titer.models.path_mixture.model import PathMixture
from titer.models.path_mixture.path_plans import KNOTS_PER_DOUBLING, NUM_KNOTS
from titer.models.path_mixture.paths import MAX_LOG_WEIGHT, TwoHops, TwoHopsSame
from titer.models.path_mixture.paths import ThreeHopsSame as Three
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.path_mixture.trust import NUM_KINDS, SMALL


def dense_loss(model: PathMixture, queries: Queries, answers: Tensor, history: History) -> Tensor:
    """The mean loss of queries of any times, summed over the members."""
    losses = []
    for rows, time in queries.by_time():
        batch = QueryBatch(queries.subject[rows], queries.relation[rows], time, history)
        for mixture in model.mixtures:
            assert isinstance(mixture, Mixture)
            log_weight = dense_log_weight(mixture, batch, model.trained)
            others = model._others(queries[rows], answers[rows])
            log_probability = log_weight.index_put(others, torch.tensor(UNREACHED)).log_softmax(dim=1)
            smoothing = model.config.label_smoothing
            of_answer = log_probability.gather(1, answers[rows][:, None])[:, 0]
            of_all = log_probability.clamp(min=-30.0).mean(dim=1)
            losses.append(-(1 - smoothing) * of_answer - smoothing * of_all)
    return torch.cat(losses).sum() / len(queries)


def dense_scores(model: PathMixture, queries: Queries, history: History) -> Tensor:
    """Log P of every entity. (queries, entities)"""
    scores = torch.empty(len(queries), history.vocabulary.num_entities)
    for rows, time in queries.by_time():
        batch = QueryBatch(queries.subject[rows], queries.relation[rows], time, history)
        members = [dense_log_weight(m, batch, model.trained) for m in model.mixtures if isinstance(m, Mixture)]
        probability = torch.stack([member.softmax(dim=1) for member in members]).double().mean(dim=0)
        scores[rows] = probability.log().float()
    return scores


def counted_series(batch: QueryBatch, limit: int) -> Series:
    """Return the series that are not over since the latest edges of their subject, up to a limit."""
    history, found = batch.history, batch.pair_index.series_before(batch.subject, batch.elapsed)
    since = []
    for subject in batch.subject.tolist():
        times = history.key[history.offsets[subject] : history.offsets[subject + 1]] & LAST_STEP
        before = times[times < batch.elapsed].sort(descending=True).values[:limit]
        since.append(int(before[-1]) if len(before) else 0)
    counted = batch.pair_index.series.elapsed_of(found.event) >= torch.tensor(since)[found.row]
    return Series(*(column[counted] for column in (found.row, found.relation, found.object, found.event)))


def dense_log_weight(mixture: Mixture, batch: QueryBatch, trained: Tensor) -> Tensor:
    """Return log(e^π + e^φ Σ w) of every answer. (queries, entities)"""
    prior, frequency, activity, subject_activity = dense_prior(mixture, batch, trained)
    series = counted_series(batch, mixture.config.past_edges)
    counts = batch.pair_index.series.counts_at(series.event, batch.elapsed)
    weight = torch.zeros(len(series.row))
    if mixture.direct is not None:
        weight = (direct_coefficients(mixture.direct, batch.relation[series.row], series.relation) * counts).sum(dim=1)
    pair = series.row * batch.num_entities + series.object
    kinds = [torch.zeros(prior.numel()).index_add(0, pair, weight)]
    for kind in mixture.longer:
        assert isinstance(kind, TwoHops | TwoHopsSame | Three)
        row, answer, log_weight = PATHS[type(kind)](kind, batch)
        path_weight = log_weight.clamp(max=MAX_LOG_WEIGHT).exp()
        kinds.append(torch.zeros(prior.numel()).index_add(0, row * batch.num_entities + answer, path_weight))
    total = torch.stack(kinds).sum(dim=0)
    trust = torch.zeros_like(total)
    if mixture.trust is not None:
        network = mixture.trust
        age, number = batch.pair_index.series.age_at(series.event, batch.elapsed), batch.pair_index.series.number
        each, nothing = features(counts, number[series.event], age), no_features(total.device)
        same = series.relation == batch.relation[series.row]
        same_features = nothing.repeat(len(total), 1)
        same_features[pair[same]] = each[same]
        same_weight = torch.zeros(len(total)).index_add(0, pair[same], weight[same])
        sums = torch.zeros(len(total), counts.shape[1]).index_add(0, pair, counts)
        numbers = torch.zeros(len(total)).index_add(0, pair, number[series.event])
        youngest = torch.full((len(total),), batch.elapsed + 1).scatter_reduce(0, pair, age, "amin")
        all_features = torch.where((numbers > 0)[:, None], features(sums, numbers, youngest), nothing)
        gated = network.past(series.relation) * network.gate(each)
        gated = torch.zeros(len(total), network.dim).index_add(0, pair, gated)
        row = torch.arange(len(batch)).repeat_interleave(batch.num_entities)
        answer = torch.arange(batch.num_entities).repeat(len(batch))
        logs = [_log(kind) for kind in kinds] + [_log(torch.zeros(len(total)))] * (NUM_KINDS - len(kinds))
        inputs = [
            _log(same_weight), same_features, all_features, gated / 3, *logs, subject_activity[row],
            prior.reshape(-1, 1) / 5, frequency.reshape(-1, 1) / 5, activity[answer][:, 3:4],
            network.query(batch.relation)[row],
        ]  # fmt: skip
        inputs = torch.cat(inputs, dim=1).clamp(min=-1e6)  # the prior of entities that do not exist yet is -inf
        trust = network.network(inputs)[:, 0] + network.prior_share * prior.reshape(-1).clamp(min=-1e6)
    along = (torch.log(total + TINY) + trust).clamp(max=MAX_LOG_WEIGHT)
    along = torch.where(total > 0, along, UNREACHED).view(prior.shape)
    return torch.logaddexp(prior, along)


def dense_prior(mixture: Mixture, batch: QueryBatch, trained: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return π and its frequency term, (queries, entities) each, and the activity of answers and subjects."""
    index, ids = batch.pair_index, torch.arange(batch.num_entities)
    activity, has_past = features_of(index.activity, ids, batch.elapsed)
    inverse = batch.history.vocabulary.inverse(batch.relation)
    subject_activity = index.answer_features(inverse, batch.subject, batch.elapsed)
    frequency = dense_frequency(mixture.prior.frequency, batch, activity)
    prior = frequency
    if mixture.prior.fit is not None:
        prior = prior + dense_fit(mixture.prior.fit, batch, subject_activity, has_past, trained)
    unknown = ~has_past
    unknown[: mixture.prior.num_entities] = False
    return prior.masked_fill(unknown, UNREACHED), frequency, activity, subject_activity


def dense_frequency(module: Frequency, batch: QueryBatch, activity: Tensor) -> Tensor:
    row, answer, event = batch.pair_index.answers_before(batch.relation, batch.elapsed)
    as_answer = features_at(batch.pair_index.answers, event, batch.elapsed)
    popularity = module.popularity(
        torch.cat([as_answer, activity[answer], module.relation(batch.relation)[row]], dim=1)
    )
    frequency = module.never(batch.relation).expand(-1, batch.num_entities).index_put((row, answer), popularity[:, 0])
    return frequency + module.activity_of(batch.relation) @ module.activity(activity).T


def dense_fit(fit: Fit, batch: QueryBatch, subject_activity: Tensor, has_past: Tensor, trained: Tensor) -> Tensor:
    entities = torch.arange(batch.num_entities)
    usable = has_past & functional.pad(trained, (0, batch.num_entities - len(trained)))
    own = functional.pad(fit.entity.weight, (0, 0, 0, batch.num_entities - fit.entity.num_embeddings))
    embedding = own * usable[:, None]
    names = fit.name_bags(batch)
    if fit.names is not None and names is not None:
        embedding = embedding + fit.names(names.bags(entities))
    edges = batch.latest(entities, fit.state_edges)
    each = functional.pad(embedding, (0, 0, 0, 1))[edges.object]
    each = each + functional.pad(fit.relation.weight, (0, 0, 0, 8))[edges.relation]
    mean = (each * edges.mask[:, :, None]).sum(dim=1) / edges.mask.sum(dim=1, keepdim=True).clamp(min=1)
    state = torch.tanh(fit.state(mean)) * edges.mask[:, :1]
    subject = batch.subject
    inputs = [embedding[subject], fit.relation(batch.relation), state[subject], subject_activity]
    # The name of an answer is not known before its first fact.
    return fit.query(torch.cat(inputs, dim=1)) @ (embedding * has_past[:, None] + fit.answer_state(state)).T


def direct_coefficients(direct: Direct, query: Tensor, past: Tensor) -> Tensor:
    is_same = (query == past)[:, None]
    log_weight = direct.pair.weight[query, past][:, None] + is_same * direct.same
    log_kernel = direct.query(query) + direct.past(past) + is_same * direct.same_at
    return torch.exp(log_weight.clamp(max=10) + log_kernel.clamp(max=10))


def age_function(heights: Tensor, age: Tensor) -> Tensor:
    place = torch.log2(age.clamp(min=1).float()) * KNOTS_PER_DOUBLING
    left = place.floor().clamp(max=NUM_KNOTS - 2)
    share, left = (place - left).clamp(max=1), left.long()[:, None]
    return heights.gather(1, left)[:, 0] * (1 - share) + heights.gather(1, left + 1)[:, 0] * share


def two_hops(kind: TwoHops, batch: QueryBatch) -> tuple[Tensor, Tensor, Tensor]:
    row, first = batch.hops_from(batch.subject, kind.limits[0])
    relation = batch.relation[row]
    before, second = batch.hops_from(first.object, kind.limits[1])
    log_weight = (kind.query(relation) * kind.first(first.relation))[before] * kind.second(second.relation)
    log_weight = log_weight.sum(dim=1) + (kind.query_bias(relation) + kind.first_bias(first.relation))[before, 0]
    log_weight = log_weight + kind.second_bias(second.relation)[:, 0]
    log_weight = log_weight + age_function(kind.query_age(relation) + kind.first_age(first.relation), first.age)[before]
    log_weight = log_weight + age_function(kind.second_age(second.relation), second.age)
    onward = second.object != batch.subject[row][before]
    return row[before][onward], second.object[onward], log_weight[onward]


def two_hops_same(kind: TwoHopsSame, batch: QueryBatch) -> tuple[Tensor, Tensor, Tensor]:
    row, first = batch.hops_from(batch.subject, kind.limits[0])
    relation = batch.relation[row]
    before, second, number = batch.answer_hops(first.object, relation, kind.limits[1])
    log_weight = kind.bias(relation)[:, 0] + (kind.query(relation) * kind.first(first.relation)).sum(dim=1)
    log_weight = log_weight + age_function(kind.query_age(relation) + kind.first_age(first.relation), first.age)
    log_weight = log_weight[before] + age_function(kind.second_age(second.relation), second.age)
    log_weight = log_weight + kind.number * torch.log(number)
    onward = second.object != batch.subject[row][before]
    return row[before][onward], second.object[onward], log_weight[onward]


def three_hops_same(kind: Three, batch: QueryBatch) -> tuple[Tensor, Tensor, Tensor]:
    row, first, _ = batch.answer_hops(batch.subject, batch.relation, kind.limit)
    relation = batch.relation[row]
    log_weight = kind.bias(relation)[:, 0] + age_function(kind.ages[0](relation), first.age)
    before, second, _ = batch.answer_hops(first.object, batch.history.vocabulary.inverse(relation), kind.limit)
    others = second.object != batch.subject[row][before]
    before, relation = before[others], second.relation[others]
    log_weight = log_weight[before] + age_function(kind.ages[1](batch.relation[row][before]), second.age[others])
    row, middle = row[before], first.object[before]
    last, third, number = batch.answer_hops(second.object[others], batch.relation[row], kind.limit)
    log_weight = log_weight[last] + age_function(kind.ages[2](third.relation), third.age)
    log_weight = log_weight + kind.number * torch.log(number)
    onward = third.object != middle[last]
    return row[last][onward], third.object[onward], log_weight[onward]


PATHS: dict[type[nn.Module], Callable[..., tuple[Tensor, Tensor, Tensor]]] = {
    TwoHops: two_hops,
    TwoHopsSame: two_hops_same,
    Three: three_hops_same,
}


def _log(total: Tensor) -> Tensor:
    return torch.log(total + SMALL)[:, None] / 3
