"""The whole thing in plain Python: what users unit-test with, and what the other engines are compared to."""
