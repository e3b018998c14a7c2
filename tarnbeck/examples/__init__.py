"""Small applications to run, read and copy: one file each, and beside it a feed that is made from a seed."""
