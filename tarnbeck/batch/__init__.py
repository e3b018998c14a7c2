"""The batch layer: complete generations from the lake."""
