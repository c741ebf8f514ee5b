"""What the engine is compared with: each contender is a program (`*_app.py`) in its own environment."""
