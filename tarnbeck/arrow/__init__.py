"""The kernel: a view's plan over Arrow tables, for the speed layer and for states that Catalyst does not know."""
