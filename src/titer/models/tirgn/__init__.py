"""TiRGN: RE-GCN with a recurrent update, past answers and time vectors (Li, Sun and Zhao, IJCAI 2022)."""
