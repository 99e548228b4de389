"""Programs that answer one question each by measuring, in turns; see README.md."""
