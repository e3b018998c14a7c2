"""Derived streams: what is made of a stream's events goes back into the log, each event exactly once."""
