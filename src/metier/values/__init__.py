"""What flows between the stages: frozen values, no input or output."""
