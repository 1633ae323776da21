"""What a host shows the model of the skills that it loads: computed by rule, and recorded."""
