"""A call of the tool `mirrored`, whose parameters are mirrored in headers."""

ARGUMENTS = {"region": "north", "count": 42, "dry": True, "inner": {"depth": "deep"}, "plain": "not mirrored"}
MIRRORED = {"Mcp-Param-Region": "north", "Mcp-Param-Count": "42", "Mcp-Param-Dry-Run": "true", "Mcp-Param-Depth": "deep"}
