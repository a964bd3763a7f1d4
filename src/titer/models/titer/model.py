"""The model TITer: training by REINFORCE, scoring by beam search, and evidence."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, StepResult
from titer.models.common.entities import mask_unseen
from titer.models.common.trained_entities import TracksTrainedEntities
from titer.models.common.weight_cache import WeightKeyedCache
from titer.models.evidence import STAYED, Edge, Evidence
from titer.models.registry import register
from titer.models.titer.config import TITerConfig
from titer.models.titer.inductive import InductiveTable, co_occurrences, relation_means
from titer.models.titer.policy import Policy
from titer.models.titer.representation import Representation
from titer.models.titer.reward import MIN_ALPHA, SnapshotCounts, estimate_alpha, sample_beta
from titer.models.titer.roll_out import roll_out
from titer.models.titer.search import BeamExpansion, beam_search, best_per_entity
from titer.models.titer.walk import Node
from titer.parallel.statistics import batch_deviation, batch_mean


@register
class TITer(TracksTrainedEntities):
    r"""An agent that walks from the subject of a query back through past facts to the answer.

    At a node \((e_l, t_l)\) the agent chooses among the N latest facts of \(e_l\) before \(t_l\) and a self-loop. The
    entity that it has reached after L hops is its answer. The policy is trained by REINFORCE. The score of an entity is
    the log probability of the best path to it that beam search finds.

    Formula:
        Relative time encoding: the representation of a node has a static part, and a part that depends on the distance
        to the query time.

        $$
        \mathbf{e}_i^t = [\mathbf{e}_i; \Phi(t_q - t)], \qquad
        \Phi(\Delta t) = \sigma(\mathbf{w}\Delta t + \mathbf{b})
        $$

        Policy: an LSTM encodes the path, and each candidate action \(a_n = (r_n, e_n, t_n)\) has a score as a node and
        a score as an edge.

        $$
        \begin{aligned}
        \mathbf{h}_l &= \mathrm{LSTM}(\mathbf{h}_{l-1}, [\mathbf{r}_l; \mathbf{e}_l^{t_l}]) \\
        \mathbf{z} &= \mathrm{ReLU}(\mathbf{W}_1[\mathbf{h}_l; \mathbf{e}_q^{t_q}; \mathbf{r}_q]), \qquad
        \tilde{\mathbf{e}} = \mathbf{W}_e\,\mathbf{z}, \qquad \tilde{\mathbf{r}} = \mathbf{W}_r\,\mathbf{z} \\
        \beta_n &= \mathrm{sigmoid}(\mathbf{W}_\beta[\mathbf{h}_l; \mathbf{e}_q^{t_q}; \mathbf{r}_q;
        \mathbf{e}_n^{t_n}; \mathbf{r}_n]) \\
        \phi_n &= \beta_n \langle\tilde{\mathbf{e}}, \mathbf{e}_n^{t_n}\rangle
        + (1 - \beta_n) \langle\tilde{\mathbf{r}}, \mathbf{r}_n\rangle, \qquad
        \pi(a_n \mid s_l) = \mathrm{softmax}_n(\phi_n)
        \end{aligned}
        $$

        Time-shaped reward: a walk that ends at the answer gets a larger reward if it found the answer at a distance in
        time that is usual for the relation.

        $$
        \tilde{R}(s_L) = (1 + p_{\Delta t_L})\,\mathbb{1}\{e_L = e_{gt}\}, \qquad
        (p_1, \ldots, p_K) \sim \mathrm{Dirichlet}(\alpha_{r_q}), \qquad \Delta t_L = t_q - t_L
        $$

        Inductive mean: an unseen entity is represented by the means of the trained entities with its relations. The
        representation changes at every time with facts of the entity. As the subject of a query, it is also shifted
        towards the mean of the query's relation.

        $$
        \begin{aligned}
        \bar{\mathbf{e}}^r &= \frac{1}{|E_r|}\sum_{e' \in E_r} \mathbf{e}', \qquad
        \mathbf{e}_t = \mu\,\mathbf{e}_{t-1} + (1 - \mu)\,\frac{1}{|R_t(e)|}\sum_{r \in R_t(e)} \bar{\mathbf{e}}^r \\
        \mathbf{e}_{q,t_q,r_q} &= \mu\,\mathbf{e}_{q,t_q} + (1 - \mu)\,\bar{\mathbf{e}}^{r_q}
        \end{aligned}
        $$

    Reference:
        Sun, Zhong, Ma, Han and He, "TimeTraveler: Reinforcement Learning for Temporal Knowledge Graph Forecasting",
        EMNLP 2021.

    Differences from the publication:
        The text, the code that its authors released and the tuned settings differ. Each is a recipe in full:
        ``preset = "paper"``, ``"released"`` or ``"tuned"``, with configurations for the four benchmarks (such as
        ``titer/icews14-paper``, ``titer/icews14-released`` and ``titer/icews14``). Unless a line says otherwise, the
        tuned recipe, which is the default, agrees with the released code.

        - ``strictly_back``: in the text, facts of a node's own time are candidates too. The released code goes strictly
          back in time on a GPU.
        - ``may_stay_at_first``: in the text, the first hop may be a self-loop. In the released code it may not, unless
          the subject has no past facts.
        - ``loop_counts_as_edge``: the text has N edges. In the released code the self-loop is one of N, except at the
          first hop. Tuned: as in the text.
        - ``start_relation``: in the text, \(r_0\) is a relation of its own. In the released code it is that of the
          self-loop. Tuned: as in the text.
        - ``initialisation``: in the text, all weights have Xavier's initialisation. In the released code, embeddings
          are standard normal, and all other weights have the defaults of torch.
        - ``time_initialisation``: the same for w; in the released code w is 1 / 10^x with x from 0 to 9.
        - ``time_scale``: in the text, Δt counts snapshots. The released code counts hours on ICEWS.
        - ``freeze_state_on_self_loop``: in the text, a self-loop leaves the state of the path encoder unchanged. The
          released code never freezes it, as it compares different ids.
        - ``sampled_reward``: in the text and in the released code, every walk has a sample of p. Tuned: the mean of its
          distribution.
        - ``entropy_decays_per``: in the text, the entropy weight decays after every epoch; in the released code, after
          every batch, so that it is gone after some 50 batches. Tuned: after every epoch on three of four benchmarks.
        - ``baseline``: the text refers to MINERVA, whose code subtracts a moving average and then standardises the
          returns of a batch. As the average cancels out, all recipes use ``standardised``; the average of the released
          code stays 0 in any case.
        - ``final_beam``: in the text, the answers are those of the beam of 100 paths. In the released code, every
          continuation of the beam counts.
        - Training: the weight decay is 1e-6 in the text and 1e-5 in the released code, which trains for 400 epochs and
          tests the last checkpoint. Tuned: dropout, another entropy weight, weight decay and number of epochs, and a
          falling learning rate, all chosen on the validation split, and the best epoch on it.

        These differences do not depend on settings:

        - The facts of one time step are in the opposite order, so that different facts are cut off after N.
        - \(\alpha\) maximises the Pólya likelihood of the counts, by the fixed-point iteration of the paper. The
          released code fits the counts as if they were proportions.
        - The representations of unseen entities also follow the facts of the validation split, and never facts at or
          after the time of the query. The released code passes over the test split twice, and so uses later facts; nor
          does it undo the shift by the query's relation.
        - Relations without trained entities count as zero vectors in the inductive mean.
        - The shares of evidence are a softmax over all paths to the answer in the beam. The score is that of the best
          path alone.

        ``docs/recipes.md`` compares the recipes in a table. ``benchmarks/paper_tables.md`` has their results, and a
        walk between them that shows what each change is worth.
    """

    name = "titer"
    Config = TITerConfig
    evaluation_settings = frozenset({"beam_size", "inductive_mean", "mu"})
    has_static_shapes = True
    # A beam search uses a GPU well only if many queries search together.
    scoring_batch_sizes: ClassVar = {"cpu": 128, "cuda": 4096}
    config: TITerConfig

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: TITerConfig | None = None):
        super().__init__(vocabulary, axis, config)
        self.policy = Policy(vocabulary, self.config)
        relations = vocabulary.num_directed_relations
        self.register_buffer("alpha", torch.ones(relations, self.config.num_snapshots))
        self.register_buffer("member_entity", torch.empty(0, dtype=torch.int64))
        self.register_buffer("member_relation", torch.empty(0, dtype=torch.int64))
        self.register_buffer("entropy_weight", torch.tensor(self.config.entropy_weight))
        self.register_buffer("average_return", torch.zeros(()))
        self._inductive = WeightKeyedCache[InductiveTable]()

    alpha: Tensor  # (num_directed_relations, K)
    member_entity: Tensor  # (pairs,) a member of E_r …
    member_relation: Tensor  # (pairs,) … and its r
    entropy_weight: Tensor
    average_return: Tensor

    def prepare(self, train: Facts, valid: Facts) -> None:
        """Estimate the Dirichlet distributions, and record the trained entities and their relations."""
        super().prepare(train, valid)
        if self.config.shaped_reward:
            samples = SnapshotCounts.of(train, self.vocabulary, self.config.num_snapshots)
            self.alpha.copy_(estimate_alpha(samples, leave_one_out=self.config.leave_one_out))
        self.member_entity, self.member_relation = co_occurrences(train, self.vocabulary)

    @property
    def hops_per_query(self) -> int:
        """Number of hops of all walks of a query: L for each."""
        return self.config.path_length * self.config.num_rollouts

    def begin_epoch(self, epoch: int) -> None:
        """Set the entropy weight of the epoch."""
        if self.config.entropy_decays_per == "epoch":
            self.entropy_weight.fill_(self.config.entropy_weight * self.config.entropy_decay ** (epoch - 1))

    def training_step(self, queries: Queries, answers: Tensor, history: History) -> StepResult:
        """Compute the loss of REINFORCE for one or several sampled walks per query."""
        num_walks = self.config.num_rollouts
        node, log_probability, entropy = roll_out(self.policy, queries, history, num_walks)
        queries, answers = queries.repeated(num_walks), answers.repeat_interleave(num_walks)
        reward = self._reward(node, queries, answers)
        returns = self._discounted(reward)  # (walks, L)
        advantage = self._advantage(returns)
        loss = -(advantage * log_probability).mean() - self.entropy_weight.clone() * entropy.mean()
        if self.config.entropy_decays_per == "batch":
            self.entropy_weight.mul_(self.config.entropy_decay)
        hit = (node.entity == answers).float().mean()
        return StepResult(loss, {"reward": reward.mean(), "hit": hit, "entropy": entropy.mean().detach()})

    def _reward(self, node: Node, queries: Queries, answers: Tensor) -> Tensor:
        """Return R̃(s_L) = (1 + p_Δt) · 1{e_L = e_gt}. (walks,)"""
        hit = (node.entity == answers).float()
        if not self.config.shaped_reward:
            return hit
        elapsed = queries.time - node.time
        place = (elapsed - 1).clamp(0, self.config.num_snapshots - 1)
        alpha = self.alpha.flatten().index_select(0, queries.relation * self.config.num_snapshots + place)
        total = self.alpha.sum(dim=1).index_select(0, queries.relation)
        # A walk uses one component of p alone, and the distribution of one component is a Beta distribution.
        rest = (total - alpha).clamp(min=MIN_ALPHA)
        p = sample_beta(alpha, rest) if self.config.sampled_reward else alpha / total
        covered = (elapsed >= 1) & (elapsed <= self.config.num_snapshots)
        return hit * (1 + torch.where(covered, p, 0.0))

    def _discounted(self, reward: Tensor) -> Tensor:
        """Return the return of every hop: γ^n times the reward, n hops before the end. (walks, L)"""
        before_end = torch.arange(self.config.path_length - 1, -1, -1, device=reward.device)
        return reward[:, None] * self.config.discount**before_end

    def _advantage(self, returns: Tensor) -> Tensor:
        """Return returns less their baseline, and update the moving average if that is the baseline. (walks, L)"""
        if self.config.baseline == "standardised":
            return (returns - batch_mean(returns)) / (batch_deviation(returns) + 1e-6)
        if self.config.baseline == "other_walks":
            walks = returns.unflatten(0, (-1, self.config.num_rollouts))  # (queries, rollouts, L)
            others = (walks.sum(dim=1, keepdim=True) - walks) / (self.config.num_rollouts - 1)
            return (walks - others).flatten(0, 1)
        advantage = returns - self.average_return
        self.average_return.lerp_(batch_mean(returns), 0.05)
        return advantage

    def score(self, queries: Queries, history: History) -> Tensor:
        """Score every entity by the log probability of the best path to it. (queries, num_entities)"""
        scores = best_per_entity(self._search(queries, history)[-1], history.vocabulary.num_entities)
        return mask_unseen(scores, queries, self.vocabulary.num_entities, history)

    def _search(self, queries: Queries, history: History) -> list[BeamExpansion]:
        representation = Representation(self._static(history), queries, self._inductive_table(history))
        return beam_search(self.policy, queries, history, representation)

    def _static(self, history: History) -> Tensor:
        """Return the trained embeddings, and zeros for entities added after training. (entities, static_dim)"""
        later = history.vocabulary.num_entities - len(self.policy.entity)
        return nn.functional.pad(self.policy.entity, (0, 0, 0, later)) if later else self.policy.entity

    def _inductive_table(self, history: History) -> InductiveTable | None:
        """Return the representations of unseen entities, cached until the history or a weight changes."""
        if not self.config.inductive_mean:
            return None

        def make() -> InductiveTable:
            table = self.policy.entity.detach()
            relations = self.vocabulary.num_directed_relations
            means, known = relation_means(table, self.member_entity, self.member_relation, relations)
            return InductiveTable(table, self.trained, means, known, history, self.config.mu)

        return self._inductive(self, history, make)

    def explain(self, query: Queries, answer: int, history: History, limit: int = 10) -> list[Evidence]:
        """Return the paths to the answer that beam search finds, most probable first, with π and β of every hop."""
        expansions = self._search(query, history)
        last = expansions[-1]
        ends = last.actions.object.view(-1)
        total = last.log_probability.reshape(-1)
        found = torch.nonzero((ends == answer) & (total > UNREACHED))[:, 0]
        found = found[total[found].argsort(descending=True, stable=True)]
        paths: dict[tuple[Edge, ...], tuple[float, tuple[dict[str, float], ...]]] = {}
        # All probabilities may underflow, but their shares of the sum do not.
        for index, share in zip(found.tolist(), total[found].double().softmax(dim=0).tolist(), strict=True):
            path, numbers = self._trace(expansions, index, int(query.subject))
            # Walks that differ in their self-loops alone are the same path.
            earlier, kept = paths.get(path, (0.0, numbers))
            paths[path] = (earlier + share, kept)
        evidence = [Evidence(path, share, "" if path else STAYED, numbers) for path, (share, numbers) in paths.items()]
        return sorted(evidence, key=lambda item: item.share, reverse=True)[:limit]

    def _trace(
        self, expansions: list[BeamExpansion], index: int, subject: int
    ) -> tuple[tuple[Edge, ...], tuple[dict[str, float], ...]]:
        """Return the path to one action of the last expansion, and the numbers of its hops."""
        actions: list[tuple[int, int, int, dict[str, float]]] = []
        for expansion in reversed(expansions):
            num_actions = expansion.hop_probability.shape[2]
            path, choice = divmod(index, num_actions)
            relation, object, time = (int(column[path, choice]) for column in expansion.actions[:3])
            numbers = {
                "probability": float(expansion.hop_probability[0, path, choice]),
                "beta": float(expansion.beta[0, path, choice]),
            }
            actions.append((relation, object, time, numbers))
            index = int(expansion.parent[0, path])
        edges, numbers_of, here = [], [], subject
        for relation, object, time, numbers in reversed(actions):
            if relation != self.vocabulary.self_loop:
                edges.append(Edge(here, relation, object, time))
                numbers_of.append(numbers)
            here = object
        return tuple(edges), tuple(numbers_of)
