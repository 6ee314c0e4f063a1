"""What goes on inside language models: latent chains of thought, and what happens when someone reaches into them."""
