"""Build backend (PEP 517) of the Python package: the project's own Meson build makes the extension module with the C
library inside, and this packs the wheel. Standard library only.

Guarantees: the same sources and compiler give the same bytes. One wheel serves every CPython from 3.11 on (abi3).

Settings (pip install --config-settings KEY=VALUE ./bindings/python):
    bundle=1      the shared libraries it needs go into the wheel too (patchelf is needed), for machines without them
    build-dir=D   where Meson works; default build-python in the source tree
    jobs=N        parallel compile jobs
"""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(HERE))
MODULE = "_ascribe.abi3.so"
# What every Linux has in the version that the compiler needs: never bundled.
SYSTEM = re.compile(r"^(ld-linux.*|libc|libm|libdl|librt|libpthread|libresolv|libutil)\.so")


def _meson_version():
    with open(os.path.join(ROOT, "meson.build"), encoding="utf-8") as f:
        return re.search(r"version: '([^']+)'", f.read()).group(1)


def _settings(given):
    given = dict(given or {})
    unknown = sorted(set(given) - {"bundle", "build-dir", "jobs"})
    if unknown:
        raise SystemExit("unknown setting %s; there are bundle, build-dir and jobs" % ", ".join(unknown))
    return given


def _need(tool, package):
    if shutil.which(tool) is None:
        raise SystemExit("%s is needed to build ascribe: install it (Debian: apt-get install %s; "
                         "scripts/install-deps.sh brings everything)" % (tool, package))


def _run(command):
    # Without the tools that pip puts first on the path: Meson is started by the Python it was installed for.
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "PYTHONNOUSERSITE")}
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.stdout.write(done.stdout)
        raise SystemExit("%s failed" % " ".join(command[:3]))


def _compile(settings):
    """The extension module's path."""
    for tool, package in (("meson", "meson"), ("ninja", "ninja-build"), ("pkg-config", "pkg-config")):
        _need(tool, package)
    if not os.path.exists(os.path.join(ROOT, "meson.build")):
        raise SystemExit("the wheel is built inside the source tree: pip install ./bindings/python")
    include = sysconfig.get_paths()["include"]
    if not os.path.exists(os.path.join(include, "Python.h")):
        raise SystemExit("Python.h is not in %s: install python3-dev" % include)
    build = os.path.join(ROOT, settings.get("build-dir", "build-python"))
    options = ["--buildtype=release", "-Dtests=false", "-Dpython=enabled", "-Dpython_include=" + include]
    if os.path.exists(os.path.join(build, "build.ninja")):
        _run(["meson", "setup", "--reconfigure", build] + options)
    else:
        _run(["meson", "setup", build] + options)
    _run(["ninja", "-C", build] + (["-j", settings["jobs"]] if "jobs" in settings else []) + [MODULE])
    return os.path.join(build, MODULE)


# ---- shared libraries ----


def _needed(path):
    """Shared libraries that a file loads, directly and through others: name -> path."""
    out = subprocess.run(["ldd", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for line in out.splitlines():
        m = re.match(r"\s*(\S+) => (\S+)", line)
        if m and not SYSTEM.match(m.group(1)):
            if m.group(2) == "not":
                raise SystemExit("%s needs %s, which is not there" % (path, m.group(1)))
            found[m.group(1)] = m.group(2)
    return found


def _bundle(folder, module):
    """Copies what the module needs beside it; every library looks there first."""
    _need("patchelf", "patchelf")
    libs = os.path.join(folder, "ascribe", "libs")
    os.makedirs(libs)
    for name, path in sorted(_needed(module).items()):
        copy = os.path.join(libs, name)
        shutil.copyfile(path, copy)
        os.chmod(copy, 0o755)
        subprocess.run(["patchelf", "--set-rpath", "$ORIGIN", copy], check=True)
    subprocess.run(["patchelf", "--set-rpath", "$ORIGIN/libs", module], check=True)


# ---- the wheel ----


def _platform():
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def _metadata():
    return ("Metadata-Version: 2.1\nName: ascribe\nVersion: %s\n"
            "Summary: Where did this model output come from? Attribution of model outputs, with an error on every "
            "number.\nLicense: Apache-2.0\nRequires-Python: >=3.11\nRequires-Dist: numpy\n"
            "Description-Content-Type: text/markdown\n\n" % _meson_version() + _read(os.path.join(HERE, "README.md")))


def _read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def _wheel_text():
    return ("Wheel-Version: 1.0\nGenerator: ascribe_build\nRoot-Is-Purelib: false\nTag: cp311-abi3-%s\n" % _platform())


def _info_files():
    return {"METADATA": _metadata().encode(), "WHEEL": _wheel_text().encode(),
            "LICENSE": _read(os.path.join(ROOT, "LICENSE")).encode()}


def _gather(folder, settings):
    """Lays the package out in folder."""
    package = os.path.join(folder, "ascribe")
    shutil.copytree(os.path.join(HERE, "ascribe"), package,
                    ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyc"))
    module = os.path.join(package, MODULE)
    shutil.copyfile(_compile(settings), module)
    os.chmod(module, 0o755)
    if shutil.which("strip"):
        subprocess.run(["strip", "--strip-unneeded", module], check=True)
    if settings.get("bundle", "0") not in ("0", ""):
        _bundle(folder, module)


def _pack(folder, path, info):
    """Every file of folder in a fixed order with fixed times, then RECORD."""
    files = {}
    for base, dirs, names in os.walk(folder):
        dirs.sort()
        for name in names:
            full = os.path.join(base, name)
            with open(full, "rb") as f:
                files[os.path.relpath(full, folder).replace(os.sep, "/")] = f.read()
    for name, data in _info_files().items():
        files["%s/%s" % (info, name)] = data
    record = ""
    order = sorted(files, key=lambda n: (n.startswith(info), n))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for name in order + [info + "/RECORD"]:
            if name.endswith("/RECORD"):
                data = (record + name + ",,\n").encode()
            else:
                data = files[name]
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                record += "%s,sha256=%s,%d\n" % (name, digest, len(data))
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o755 if ".so" in name else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(entry, data)


# ---- what PEP 517 asks for ----


def get_requires_for_build_wheel(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    info = "ascribe-%s.dist-info" % _meson_version()
    folder = os.path.join(metadata_directory, info)
    os.makedirs(folder)
    for name, data in _info_files().items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
    return info


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    settings = _settings(config_settings)
    version = _meson_version()
    name = "ascribe-%s-cp311-abi3-%s.whl" % (version, _platform())
    with tempfile.TemporaryDirectory() as folder:
        _gather(folder, settings)
        _pack(folder, os.path.join(wheel_directory, name), "ascribe-%s.dist-info" % version)
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("a source distribution is the source tree itself: pip install ./bindings/python")


if __name__ == "__main__":  # ascribe_build.py FOLDER [KEY=VALUE...]: the wheel without pip
    os.makedirs(sys.argv[1], exist_ok=True)
    print(os.path.join(sys.argv[1], build_wheel(sys.argv[1], dict(a.split("=", 1) for a in sys.argv[2:]))))
