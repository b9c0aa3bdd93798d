"""Jobs: calls that wait for an answer or take long."""
