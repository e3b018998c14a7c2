"""Alerts: rules looked after while the node runs, and notices brought to where they go."""
