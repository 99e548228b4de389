"""The process: which databases are followed, and what fails there."""
