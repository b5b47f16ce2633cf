"""Looking at a fitted model: diagnostics of chains."""
