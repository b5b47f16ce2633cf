"""Every table of the paper, computed anew: `softpolytope tables`."""
