"""What engines that are told in SQL share."""
