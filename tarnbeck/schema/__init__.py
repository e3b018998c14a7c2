"""The types of a stream, its formats, and the one decoding that every layer uses."""
