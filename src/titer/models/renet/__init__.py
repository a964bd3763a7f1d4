"""RE-NET: a recurrent network over the neighbourhoods of the query's subject (Jin et al., EMNLP 2020)."""
