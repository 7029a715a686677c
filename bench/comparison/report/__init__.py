"""What a comparison writes: its table, its figures and their notes."""
