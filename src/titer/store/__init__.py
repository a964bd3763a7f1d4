"""Facts added to a run after training: a database, and a history that includes them."""
