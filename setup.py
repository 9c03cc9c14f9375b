"""Which packages are installed, and under which names; everything else is in pyproject.toml.

The folders ``mechanisms`` and ``verification`` are installed as ``rdpkit.mechanisms`` and
``rdpkit.verification``, so that nothing in site-packages takes these common names from anybody.
"""

from setuptools import find_packages, setup

BESIDE = ("mechanisms", "verification")

setup(
    packages=[
        *find_packages(include=["rdpkit", "rdpkit.*"]),
        *(
            f"rdpkit.{name}"
            for folder in BESIDE
            for name in find_packages(include=[folder, f"{folder}.*"])
        ),
    ],
    package_dir={f"rdpkit.{folder}": folder for folder in BESIDE},
)
