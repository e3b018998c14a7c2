"""The log: the embedded Kafka broker, topics, sending and following."""
