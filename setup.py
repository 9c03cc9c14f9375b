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
    # pyproject.toml names the files that are installed beside the modules.
    include_package_data=False,
    package_dir={f"rdpkit.{folder}": folder for folder in BESIDE},
)
