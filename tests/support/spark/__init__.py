"""What Spark is compared with, value by value and firing by firing."""
