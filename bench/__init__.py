"""Figures of tarnbeck side by side with peers on the same machine, the same topic and in the same run."""
