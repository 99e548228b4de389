"""`python -m coordinator`."""

from coordinator.main import main

main()
