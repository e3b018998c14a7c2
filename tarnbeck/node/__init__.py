"""The node: puts the parts together for one machine; the only room that knows them all."""
