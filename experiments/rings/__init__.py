"""Rings of local processes: started, waited for, asked, and never orphaned."""
