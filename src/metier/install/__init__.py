"""Install metier in the settings of agent hosts, and uninstall it."""
