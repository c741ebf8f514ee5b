"""What every face checks alike."""
