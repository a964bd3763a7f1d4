"""RE-NET, which reads what happened around a subject step by step (Jin et al., EMNLP 2020)."""
