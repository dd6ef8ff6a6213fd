"""Static rings at scale: millions of members as a sorted row of identifiers, and lookups in it without stored tables.

Where nothing changes, a finger is a search in that row and a successor list is what follows in it. What the production
code does with both is done here for many lookups at once, and checked against it node for node on small rings.
"""
