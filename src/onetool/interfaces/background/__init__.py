"""OneTool in the background: one process for all clients of a user, reached through a private socket."""
