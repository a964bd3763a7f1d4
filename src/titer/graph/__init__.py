"""Indexes over the facts of a temporal knowledge graph.

Three clocks occur in this package and in the models built on it:

- *time*: a time step of the dataset, as in ``Facts.time`` and ``Queries.time``; may be negative.
- *elapsed*: time steps since the first fact of a history, ``time - history.first_time``; the time in sorted keys, where
  it must not be negative. ``History.elapsed`` converts a time.
- *age*: time steps from a fact to the query, ``query time - fact time``; at least 1, since only earlier facts count.
"""
