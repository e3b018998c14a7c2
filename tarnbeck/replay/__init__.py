"""The replay layer: a version that can't answer yet is filled from history, step by step."""
