"""rdpkit beside other libraries on the same work: time, memory and error.

``bash benchmarks/run`` makes the environment and runs everything; ``python -m benchmarks`` runs in
an environment that is there already. docs/reference/benchmarks.md explains the method.
"""
