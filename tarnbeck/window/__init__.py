"""Windows: slices of event time, and the panes that a view stores for them."""
