"""A Summary as tables on a terminal, as files and as figures."""
