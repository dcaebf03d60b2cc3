"""What leaves the tool: the twin in OUT with its manifest, the diff, the report."""
