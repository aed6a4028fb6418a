"""The explorer: an archive in the browser, live or as one file."""
