"""From a question in words to ranked answers with evidence."""
