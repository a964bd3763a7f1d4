"""TITer, an agent that walks back through past facts (Sun et al., EMNLP 2021). Each file has one idea of the paper."""
