"""Parts of scripts/assets.py. Standard library only."""
