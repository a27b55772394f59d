"""What a result looks like: pictures and the report."""
