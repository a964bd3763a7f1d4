"""TITer: everything together behind the common base."""

import math

import torch
from torch import Tensor, nn
from torch.distributions import Dirichlet

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model, StepResult
from titer.models.common.entities import mask_unseen
from titer.models.common.weight_cache import WeightKeyedCache
from titer.models.evidence import Edge, Evidence
from titer.models.registry import register
from titer.models.titer.config import TITerConfig
from titer.models.titer.decide import Decision, decide, gumbel_noise
from titer.models.titer.inductive import InductiveTable, co_occurrences, relation_means
from titer.models.titer.policy import Policy
from titer.models.titer.representation import Representation
from titer.models.titer.reward import SnapshotCounts, estimate_alpha, shaping
from titer.models.titer.search import MAX_LAGS, Expansion, beam_search, best_per_entity
from titer.models.titer.walk import Node, candidate_actions


@register
class TITer(Model):
    """An agent that starts at the question's subject and travels back through history, from fact to fact.

    Haohai Sun, Jialun Zhong, Yunpu Ma, Zhen Han, Kun He: "TimeTraveler: Reinforcement Learning for Temporal Knowledge
    Graph Forecasting", EMNLP 2021. Trained by REINFORCE with a reward that knows how long ago answers are usually
    found; at test time the best of many walks that end at an entity is its score.
    """

    name = "titer"
    Config = TITerConfig
    has_static_shapes = True
    config: TITerConfig

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: TITerConfig | None = None):
        super().__init__(vocabulary, axis, config)
        self.policy = Policy(vocabulary, self.config)
        relations = vocabulary.num_directed_relations
        self.register_buffer("alpha", torch.ones(relations, self.config.num_snapshots))
        self.register_buffer("trained", torch.ones(vocabulary.num_entities, dtype=torch.bool))
        self.register_buffer("member_entity", torch.empty(0, dtype=torch.int64))
        self.register_buffer("member_relation", torch.empty(0, dtype=torch.int64))
        self.register_buffer("entropy_weight", torch.tensor(self.config.entropy_weight))
        self.register_buffer("average_return", torch.zeros(()))
        self._inductive = WeightKeyedCache[InductiveTable]()

    alpha: Tensor  # (num_directed_relations, K)
    trained: Tensor  # (num_entities,)
    member_entity: Tensor  # (pairs,) who belongs to E_r …
    member_relation: Tensor  # (pairs,) … and which r
    entropy_weight: Tensor
    average_return: Tensor

    def prepare(self, train: Facts, valid: Facts) -> None:
        """Estimate the Dirichlet distributions, and note who appears in training, and with which relations."""
        if self.config.shaped_reward:
            samples = SnapshotCounts.of(train, self.vocabulary, self.config.num_snapshots)
            self.alpha.copy_(estimate_alpha(samples, leave_one_out=self.config.leave_one_out))
        self.trained.copy_(torch.from_numpy(train.mentions(self.vocabulary.num_entities)))
        self.member_entity, self.member_relation = co_occurrences(train, self.vocabulary)

    @property
    def hops_per_query(self) -> int:
        """L steps of every walk."""
        return self.config.path_length * self.config.num_rollouts

    def begin_epoch(self, epoch: int) -> None:
        """Let the entropy bonus fade."""
        if self.config.entropy_decays_per == "epoch":
            self.entropy_weight.fill_(self.config.entropy_weight * self.config.entropy_decay ** (epoch - 1))

    def training_step(self, queries: Queries, answers: Tensor, history: History) -> StepResult:
        """REINFORCE on one walk, or several, for every question."""
        if self.config.num_rollouts > 1:
            queries = queries[
                torch.arange(len(queries), device=answers.device).repeat_interleave(self.config.num_rollouts)
            ]
            answers = answers.repeat_interleave(self.config.num_rollouts)
        node, log_probability, entropy = self._roll_out(queries, history)
        reward = self._reward(node, queries, answers)
        returns = self._discounted(reward)  # (walks, L)
        advantage = self._advantage(returns)
        loss = -(advantage * log_probability).mean() - self.entropy_weight.clone() * entropy.mean()
        if self.config.entropy_decays_per == "batch":
            self.entropy_weight.mul_(self.config.entropy_decay)
        hit = (node.entity == answers).float().mean()
        return StepResult(loss, {"reward": reward.mean(), "hit": hit, "entropy": entropy.mean().detach()})

    def _roll_out(self, queries: Queries, history: History) -> tuple[Node, Tensor, Tensor]:
        """Sample a walk for every question: its end, and log π(a_l | s_l) and the policy's entropy at every step."""
        policy, asked = self.policy, queries.time
        table = policy.entity
        question = policy.question(table.index_select(0, queries.subject), queries.relation)
        state = policy.begin(question)
        node = Node(torch.full_like(queries.subject, policy.start), queries.subject, asked)
        num_lags = min(history.num_steps, MAX_LAGS)
        encoding = policy.encodings(num_lags)
        decisions: list[Decision] = []
        for step in range(self.config.path_length):
            if step:
                static = table.index_select(0, node.entity)
                stays = node.relation == self.vocabulary.self_loop
                state = policy.advance(state, node.relation, static, asked - node.time, stays)
            actions = candidate_actions(history, node.entity, node.time, asked, self.config, first=step == 0)
            rows = actions.object.clamp(max=self.vocabulary.num_entities - 1)
            decision = decide(
                policy.candidates(actions, rows, asked, num_lags),
                policy.scoring(state, question, table, encoding),
                gumbel_noise(actions.mask),
                weighted=self.config.weighted_scoring,
            )
            decisions.append(decision)
            node = Node.reached(actions, decision.choice)
        log_probability = torch.stack([decision.log_probability for decision in decisions], dim=1)
        return node, log_probability, torch.stack([decision.entropy for decision in decisions], dim=1)

    def _reward(self, node: Node, queries: Queries, answers: Tensor) -> Tensor:
        """R̃(s_L) = (1 + p_Δt) · 1{e_L = e_gt}. (walks,)"""
        hit = (node.entity == answers).float()
        if not self.config.shaped_reward:
            return hit
        dirichlet = Dirichlet(self.alpha, validate_args=False)
        p = shaping(dirichlet.sample() if self.config.sampled_reward else dirichlet.mean)  # (relations, K + 1)
        elapsed = queries.time - node.time
        inside = elapsed <= self.config.num_snapshots
        gain = p[queries.relation, elapsed.clamp(max=self.config.num_snapshots)]
        return hit * (1 + torch.where(inside, gain, 0.0))

    def _discounted(self, reward: Tensor) -> Tensor:
        """The reward comes at the end; a step that lies n steps before it is worth γ^n of it. (walks, L)"""
        before_end = torch.arange(self.config.path_length - 1, -1, -1, device=reward.device)
        return reward[:, None] * self.config.discount**before_end

    def _advantage(self, returns: Tensor) -> Tensor:
        if self.config.baseline == "standardised":
            return (returns - returns.mean()) / (returns.std() + 1e-6)
        if self.config.baseline == "other_walks":
            walks = returns.unflatten(0, (-1, self.config.num_rollouts))  # (questions, rollouts, L)
            others = (walks.sum(dim=1, keepdim=True) - walks) / (self.config.num_rollouts - 1)
            return (walks - others).flatten(0, 1)
        advantage = returns - self.average_return
        self.average_return.lerp_(returns.mean(), 0.05)
        return advantage

    def score(self, queries: Queries, history: History) -> Tensor:
        """log probability of the best path to every entity. (queries, num_entities)"""
        scores = best_per_entity(self._search(queries, history)[-1], history.vocabulary.num_entities)
        return mask_unseen(scores, queries, self.vocabulary.num_entities, history)

    def _search(self, queries: Queries, history: History) -> list[Expansion]:
        representation = Representation(self._static(history), queries, self._inductive_table(history))
        return beam_search(self.policy, queries, history, representation)

    def _static(self, history: History) -> Tensor:
        """The trained embeddings, and nothing for entities that came after training. (entities, static_dim)"""
        later = history.vocabulary.num_entities - len(self.policy.entity)
        return nn.functional.pad(self.policy.entity, (0, 0, 0, later)) if later else self.policy.entity

    def _inductive_table(self, history: History) -> InductiveTable | None:
        """Built once for a history and the weights of the moment, then used again."""
        if not self.config.inductive_mean:
            return None

        def make() -> InductiveTable:
            table = self.policy.entity.detach()
            relations = self.vocabulary.num_directed_relations
            means, known = relation_means(table, self.member_entity, self.member_relation, relations)
            return InductiveTable(table, self.trained, means, known, history, self.config.mu)

        return self._inductive(self, history, make)

    def explain(self, query: Queries, answer: int, history: History, limit: int = 10) -> list[Evidence]:
        """The paths that end at the answer, most probable first, with π and β of every step."""
        steps = self._search(query, history)
        last = steps[-1]
        ends = last.actions.object.view(-1)
        total = last.log_probability.reshape(-1)
        found = torch.nonzero((ends == answer) & (total > -math.inf))[:, 0]
        found = found[total[found].argsort(descending=True, stable=True)]
        paths: dict[tuple[Edge, ...], tuple[float, tuple[dict[str, float], ...]]] = {}
        # The probabilities themselves may all be too small for a number; what each is of their sum is not.
        for place, share in zip(found.tolist(), total[found].double().softmax(dim=0).tolist(), strict=True):
            path, numbers = self._trace(steps, place, int(query.subject))
            # Staying earlier or later makes no other path.
            earlier, kept = paths.get(path, (0.0, numbers))
            paths[path] = (earlier + share, kept)
        evidence = [
            Evidence(path, share, "" if path else "the question's own subject, without a step", numbers)
            for path, (share, numbers) in paths.items()
        ]
        return sorted(evidence, key=lambda item: item.share, reverse=True)[:limit]

    def _trace(
        self, steps: list[Expansion], place: int, subject: int
    ) -> tuple[tuple[Edge, ...], tuple[dict[str, float], ...]]:
        """Go back from one end to the beginning."""
        actions: list[tuple[int, int, int, dict[str, float]]] = []
        for step in reversed(steps):
            num_actions = step.step_probability.shape[2]
            path, choice = divmod(place, num_actions)
            relation, object, time = (int(column[path, choice]) for column in step.actions[:3])
            numbers = {
                "probability": float(step.step_probability[0, path, choice]),
                "beta": float(step.beta[0, path, choice]),
            }
            actions.append((relation, object, time, numbers))
            place = int(step.parent[0, path])
        edges, numbers_of, here = [], [], subject
        for relation, object, time, numbers in reversed(actions):
            if relation != self.vocabulary.self_loop:
                edges.append(Edge(here, relation, object, time))
                numbers_of.append(numbers)
            here = object
        return tuple(edges), tuple(numbers_of)
