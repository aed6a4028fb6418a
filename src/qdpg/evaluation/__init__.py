"""What a collection is worth: its policies played from fresh starts, and the archive that their means would fill."""
