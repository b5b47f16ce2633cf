"""The classifiers, in scikit-learn's manner."""
