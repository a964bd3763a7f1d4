"""xERTE: attention flow over an expanding subgraph of the history (Han et al., ICLR 2021)."""
