"""tarnbeck: answers over all data ever received, including the last second."""
