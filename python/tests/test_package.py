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


def test_types_are_known():
    folder = pathlib.Path(canopy.__file__).parent
    stub = (folder / "_core.pyi").read_text()
    assert (folder / "py.typed").exists() and "class Index" in stub and "def match(" in stub


def test_import_brings_no_heavy_package():
    code = "import canopy, sys; print([m for m in ('torch', 'pandas', 'sglang', 'msgspec') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_only_common_libraries_are_needed():
    folder = pathlib.Path(canopy.__file__).parent
    carried = folder.parent / "canopy_kv.libs"
    # Libraries that manylinux allows a wheel to expect of every system.
    usual = ("linux-vdso", "libz.", "libstdc++", "libm.", "libgcc_s", "libc.", "ld-linux", "libdl", "libpthread", "librt", "libresolv")
    for file in [next(folder.glob("_core*.so")), folder / "bin" / "canopy", *(folder / "plugins").glob("*.so")]:
        for line in subprocess.run(["ldd", file], capture_output=True, text=True).stdout.splitlines():
            library = line.split()[0].rpartition("/")[2]
            path = line.partition("=> ")[2].partition(" (")[0]
            is_carried = pathlib.Path(path).resolve().is_relative_to(carried.resolve()) if path else False
            assert library.startswith(usual) or is_carried, f"{file.name} needs {line}"


def test_the_program_is_inside():
    program = pathlib.Path(sys.executable).parent / "canopy"
    run = subprocess.run([program, "demo"], capture_output=True, text=True)
    assert run.returncode == 0 and " 0 violations" in run.stdout, run.stderr
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.strip()
    assert version == f"canopy {canopy.__version__}"
    assert "radix" in subprocess.run([program, "plugins", "list"], capture_output=True, text=True).stdout


def test_licences_of_what_is_carried():
    folder = pathlib.Path(canopy.__file__).parent
    names = {path.name for path in (folder / "licenses").iterdir()}
    assert {"canopy.txt", "compiled_in.txt"} <= names
    # A library in the wheel is named libNAME-HASH.so.VERSION; the package that it is from has its name.
    for library in (folder.parent / "canopy_kv.libs").iterdir():
        stem = library.name.partition("-")[0].removesuffix(".so").replace("_", "-")
        assert any(name.startswith(stem) for name in names), f"no licence of {library.name}"


def test_the_distribution_has_its_name():
    assert importlib.metadata.version("canopy-kv") == canopy.__version__


def test_docstrings():
    for name in canopy.__all__:
        thing = getattr(canopy, name)
        assert thing.__doc__, name
        for method in (m for m in vars(thing) if not m.startswith("_")) if isinstance(thing, type) else ():
            assert getattr(thing, method) is not None


def test_a_subinterpreter_that_tries_to_import_it_changes_nothing():
    code = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import canopy
tree = canopy.Index(1)
tree.insert([1, 2], [1, 2])
try:
    print(interpreters.run_string(interpreters.create(), "import canopy"))
except Exception as error:
    print(error)
assert tree.match([1, 2]).length == 2 and canopy.Index(1).match([1]).length == 0
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "main interpreter only" in done.stdout or "numpy" in done.stdout.lower(), done.stdout
