"""Maximum a posteriori: climbs of the collapsed posterior from several starts, with the prior's scale learned."""
