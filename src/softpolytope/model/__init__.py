"""The paper's deterministic mathematics: no randomness, everything in log space."""
