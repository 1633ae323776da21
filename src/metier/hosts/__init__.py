"""Facts about agent hosts, as data: their folders, settings and switches."""
