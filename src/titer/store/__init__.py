"""Facts added to a run after training: a database, and the history that grows with it."""
