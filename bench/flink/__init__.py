"""The peer Flink: an environment and a process of its own, because what it needs conflicts with what tarnbeck needs."""
