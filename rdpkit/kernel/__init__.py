"""A checker of privacy claims: integers and the standard library only, to be read in an hour.

``python -m rdpkit.kernel certificate.json`` prints what the certificate states, the theorems on
paper that it rests on, and whether it is accepted. Nothing here imports the rest of rdpkit, and
nothing of the rest imports this. The argument is on the page docs/theory/kernel.md.
"""
