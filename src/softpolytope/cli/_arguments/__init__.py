"""The arguments of every command, apart from what runs them: help needs neither NumPy nor scikit-learn."""
