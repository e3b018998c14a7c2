"""The serving layer: answers in Python, SQL and HTTP, each with the cut that says which events it covers."""
