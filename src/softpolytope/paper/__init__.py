"""Reproduction of the paper: its protocol, figures and tables.

The commands `softpolytope figures` and `softpolytope tables` call what is exported here. No classifier depends on it.
"""

from softpolytope.paper._protocol import paper_settings

__all__ = ["paper_settings"]
