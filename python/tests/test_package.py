import importlib.metadata
import pathlib
import subprocess
import sys

import canopy


def test_plugins_are_inside():
    names = {(row["interface"], row["name"]) for row in canopy.plugins()}
    assert {("PrefixIndex", "radix"), ("EvictionStrategy", "lru"), ("KVStore", "host")} <= names
    folder = pathlib.Path(canopy.__file__).parent
    assert all(pathlib.Path(row["file"]).is_relative_to(folder) for row in canopy.plugins())


def test_types_are_told():
    folder = pathlib.Path(canopy.__file__).parent
    stub = (folder / "_core.pyi").read_text()
    assert (folder / "py.typed").exists() and "class Index" in stub and "def match(" in stub


def test_import_brings_no_heavy_package():
    code = "import canopy, sys; print([m for m in ('torch', 'pandas', 'sglang', 'msgspec') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_only_common_libraries_are_needed():
    folder = pathlib.Path(canopy.__file__).parent
    # What manylinux allows a wheel to expect of every system, and the yaml-cpp that travels along.
    usual = ("linux-vdso", "libz.", "libstdc++", "libm.", "libgcc_s", "libc.", "ld-linux", "libyaml-cpp", "libdl", "libpthread", "librt")
    for file in [next(folder.glob("_core*.so")), *(folder / "plugins").glob("*.so")]:
        for line in subprocess.run(["ldd", file], capture_output=True, text=True).stdout.splitlines():
            library = line.split()[0].rpartition("/")[2]
            assert library.startswith(usual), f"{file.name} needs {library}"
            if library.startswith("libyaml-cpp"):
                assert str(folder) in line


def test_the_distribution_has_its_name():
    assert importlib.metadata.version("canopy-kv") == canopy.__version__


def test_docstrings():
    for name in canopy.__all__:
        thing = getattr(canopy, name)
        assert thing.__doc__, name
        for method in (m for m in vars(thing) if not m.startswith("_")) if isinstance(thing, type) else ():
            assert getattr(thing, method) is not None
