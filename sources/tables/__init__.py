"""Tables that come under capture, that change there, and that leave."""
