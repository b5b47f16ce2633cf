"""Compiled code of the optimization."""
