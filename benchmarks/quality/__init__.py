"""How well metier chooses: ranking, silence and author-labelled prompts, beside its peers."""
