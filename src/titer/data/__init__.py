"""Facts on disk and in memory: readers, names, time, splits, storage."""
