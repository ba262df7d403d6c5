"""What `assemble` knows of all statements and questions at once, as columns of numbers."""
