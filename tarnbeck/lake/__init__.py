"""The lake: the master data, one append-only Delta table per stream, and the quarantine beside it."""
