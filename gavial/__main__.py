"""`python -m gavial`."""

from gavial.launch import main

main()
