"""Builds the extension by CMake, in $TRAWL_BUILD if that is set, and makes one wheel for Python 3.10 and later."""

import os
import pathlib
import shutil
import subprocess

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from wheel.bdist_wheel import bdist_wheel

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Build(build_ext):
    def build_extension(self, ext):
        build = pathlib.Path(os.environ.get("TRAWL_BUILD") or ROOT / "build" / "wheel")
        if not (build / "CMakeCache.txt").exists():
            subprocess.run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                            "-DTRAWL_BUILD_TESTS=OFF", "-DTRAWL_BUILD_BENCH=OFF"], check=True)
        subprocess.run(["cmake", "--build", build, "--target", "trawl_python"], check=True)
        target = pathlib.Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(build / "bindings" / "python" / "trawl" / "_trawl.abi3.so", target)


class Wheel(bdist_wheel):
    def get_tag(self):
        _, _, platform = super().get_tag()
        return "cp310", "abi3", platform


setup(ext_modules=[Extension("trawl._trawl", sources=[], py_limited_api=True)],
      cmdclass={"build_ext": Build, "bdist_wheel": Wheel})
