"""The Spark engine: its jars, its session, and plans as DataFrames of partials."""
