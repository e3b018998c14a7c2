"""Aggregates as monoids: each is made of states that merge, and a finish."""
