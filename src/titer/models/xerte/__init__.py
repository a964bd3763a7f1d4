"""A subgraph of the past that grows around the question, and the attention that flows through it."""
