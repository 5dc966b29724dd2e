#!/usr/bin/env bash
# release_flow.sh SOURCE FOLDER: what scripts/release --packages does around its builds, with builders that only write a file:
# equal builds become packages with licences and checksums, for each Python that is there; unequal ones are refused.
set -euo pipefail
command -v git >/dev/null || { echo "SKIPPED: no git here"; exit 77; }
mkdir -p "$2"
folder=$(cd "$2" && pwd)
rm -rf "${folder:?}"/*
mkdir -p "$folder/bin" "$folder/cache/canopy/imgui-1" "$folder/wheel/canopy/licenses"
touch "$folder/cache/canopy/imgui-1/imgui.cpp"
echo "a licence" >"$folder/wheel/canopy/licenses/one.txt"
python3 -c "import shutil; shutil.make_archive('$folder/wheel', 'zip', '$folder/wheel')"
tool() { cat >"$folder/bin/$1" && chmod +x "$folder/bin/$1"; }
tool dpkg-query <<<'echo installed'
tool cmake <<<'exit 0'
tool lintian <<<'echo "lintian: $# arguments"'
# The second build's package differs if DIFFERS is set.
tool cpack <<'END'
#!/bin/bash
mkdir -p build/deb
[[ -n "${DIFFERS:-}" && $PWD == */second ]] && echo other >build/deb/canopy_1_amd64.deb || echo same >build/deb/canopy_1_amd64.deb
END
# An interpreter whose environments have a pip that finds a wheel made.
for version in 11 12 13; do
  tool python3.$version <<END
#!/bin/bash
[ $version != 12 ] || exit 1
case "\$1" in
  -m) mkdir -p "\$3/bin"
      printf '#!/bin/bash\n[ "\$1" != wheel ] || { mkdir -p build/python/raw; cp "$folder/wheel.zip" build/python/raw/canopy_kv-cp3$version.whl; }\n' >"\$3/bin/pip"
      printf '#!/bin/bash\nmkdir -p "\$4"; cp "\$5" "\$4"\n' >"\$3/bin/auditwheel"
      chmod +x "\$3/bin/"* ;;
  *) echo cp3$version ;;
esac
END
done
git -c safe.directory="*" clone -q "$1" "$folder/source"
cp "$1"/scripts/{release,python,install} "$folder/source/scripts/"
git -C "$folder/source" -c user.name=test -c user.email=test commit -qam "the scripts of this tree" >/dev/null || true
release() { PATH=$folder/bin:$PATH XDG_CACHE_HOME=$folder/cache TMPDIR=$folder "$folder/source/scripts/release" --packages "$folder/packages" 2>&1; }
need() { grep -qF -- "$1" <<<"$said" || { printf 'expected "%s" in:\n%s\n' "$1" "$said"; exit 1; }; }

said=$(release) || { echo "$said"; exit 1; }
need "the two builds are equal"
need "no python3.12 here, so no wheel for it"
need "lintian: 3 arguments"
cd "$folder/packages"
[ "$(echo *)" = "SHA256SUMS canopy_1_amd64.deb canopy_kv-cp311.whl canopy_kv-cp313.whl licenses" ] || { ls; exit 1; }
grep -q "a licence" licenses/one.txt
sha256sum --quiet -c SHA256SUMS

echo mine >"$folder/source/README.md"
said=$(release) && { echo "a tree with changes was built"; exit 1; }
need "the tree has changes that are in no commit"
git -C "$folder/source" checkout -q README.md
said=$(DIFFERS=1 release) && { echo "two builds that differ were released"; exit 1; }
need "the two builds differ"
sha256sum --quiet -c SHA256SUMS # the packages of before stay
ls -d "$folder"/canopy-release.* 2>/dev/null && { echo "a build folder was left"; exit 1; }
exit 0
