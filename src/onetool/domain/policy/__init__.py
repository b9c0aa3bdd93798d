"""The policy: whether a caller sees a tool, may call it, is asked before, and which rule decides that."""
