"""The generated feeds of the examples, one file each."""
