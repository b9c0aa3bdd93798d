"""What OneTool costs beside the bare engines under it, measured side by side in one run."""
