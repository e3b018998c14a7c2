"""The speed layer: the newest events, from the log into open epochs."""
