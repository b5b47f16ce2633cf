"""The sampler: two exact scans of one posterior, over blocks of rows."""
