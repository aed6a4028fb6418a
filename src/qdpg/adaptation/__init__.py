"""Adapting to something new with the policies that are there: Bayesian optimisation over a collection."""
