"""`python -m coordinator`."""

from coordinator.process.main import main

main()
