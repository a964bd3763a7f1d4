"""Training and evaluation by several processes: their group, the sum of gradients, and their launch."""
