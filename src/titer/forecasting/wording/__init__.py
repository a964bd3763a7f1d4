"""Facts, questions and answers as English text."""
