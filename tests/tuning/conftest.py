"""Storages of searches."""

from store.conftest import new_store as new_store
from store.conftest import postgres as postgres
