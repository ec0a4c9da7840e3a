#!/bin/sh
# Makes inter.woff2 from the variable font of the npm package inter-ui, in the folder of this script. Needs npm and the
# Debian packages fonttools and python3-brotli. The subset: Latin, Latin-1, Latin Extended-A, punctuation and arrows;
# weights 400 to 700; tabular figures and the slashed zero.
set -eu
folder=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent inter-ui@4.1.1
tar -xzf inter-ui-4.1.1.tgz
fonttools varLib.instancer -q package/variable/InterVariable.woff2 opsz=14 wght=400:700 -o instance.ttf
pyftsubset instance.ttf --flavor=woff2 --no-hinting --notdef-outline --output-file="$folder/inter.woff2" \
  --layout-features=kern,tnum,ccmp,locl,mark,mkmk,zero,case --name-IDs=0,1,2,3,4,5,6,13,14 \
  --unicodes=U+0020-007E,U+00A0-017F,U+2009,U+202F,U+2010-2015,U+2018-201E,U+2020-2022,U+2026,U+2030,U+2032-2033,U+2039-203A,U+20AC,U+2122,U+2190-2193,U+2212,U+2215,U+221E,U+2260,U+2264-2265,U+2303,U+2318,U+25CF,U+2713,U+FFFD
cp package/LICENSE.txt "$folder/LICENSE.txt"
