"""Where blocks of rows live and how their results come back: always in block order."""
