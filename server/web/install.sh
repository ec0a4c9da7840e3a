#!/bin/sh
# Installs the slipway command with npm from the server that served this script. Running it again updates the command.
set -eu

package={package}

# A function, so that an incompletely downloaded script does nothing.
main() {
  command -v node >/dev/null || fail 'Node.js is not installed. Install Node.js 18.18 or later: https://nodejs.org/'
  version=$(node -p process.versions.node)
  minor=${version#*.}
  [ "${version%%.*}" -gt 18 ] || { [ "${version%%.*}" -eq 18 ] && [ "${minor%%.*}" -ge 18 ]; } ||
    fail "Node.js $version is too old. Install Node.js 18.18 or later: https://nodejs.org/"
  command -v npm >/dev/null || fail 'npm is not installed. Install Node.js with npm: https://nodejs.org/'

  prefix=$(npm prefix --global)
  if ! is_writable "$prefix/lib/node_modules" || ! is_writable "$prefix/bin"; then
    prefix=$HOME/.local
  fi
  npm install --global --prefix "$prefix" --ignore-scripts --no-audit --no-fund --no-update-notifier "$package"

  case ":$PATH:" in
  *":$prefix/bin:"*)
    echo 'Publish a folder: slipway publish ./folder'
    ;;
  *)
    echo "Installed $prefix/bin/slipway. Add its folder to your PATH:"
    echo "  export PATH=\"$prefix/bin:\$PATH\""
    echo 'Then publish a folder: slipway publish ./folder'
    ;;
  esac
}

# Whether files can be created in a folder, given by its absolute path, which may not exist yet.
is_writable() {
  folder=$1
  while [ ! -e "${folder:-/}" ]; do
    case $folder in
    /*) folder=${folder%/*} ;;
    *) return 1 ;;
    esac
  done
  [ -d "${folder:-/}" ] && [ -w "${folder:-/}" ]
}

fail() {
  echo "slipway: $1" >&2
  exit 1
}

main
