"""What a fitted model looks like: half-spaces, regions, explanations, the way to the other side."""
