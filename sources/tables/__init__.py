"""Tables that join capture, change while captured, and leave."""
