"""From a plan to what is run: the bundle, its parts, an image in memory, the models beside it."""
