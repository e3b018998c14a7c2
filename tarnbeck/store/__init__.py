"""Where partials, cuts and the catalog live: the protocol's rules, the contract of a store, and SQLite."""
