"""Cards from configured sources: a folder, a database, an address.

They are copied into the state folder as plain files, each source as a whole or not at all.
"""
