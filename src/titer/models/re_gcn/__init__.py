"""RE-GCN: evolving representations of entities and relations over snapshots (Li et al., SIGIR 2021)."""
