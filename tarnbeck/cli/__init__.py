"""The command line: one file per command; heavy things are imported only by the command that needs them."""
