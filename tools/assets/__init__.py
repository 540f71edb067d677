"""Parts of tools/assets.py. Standard library only."""
