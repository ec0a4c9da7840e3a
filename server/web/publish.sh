#!/bin/sh
# Publishes a folder as a static site with curl and tar, and prints its URL. From the server that served this script:
#
#   curl -fsSL {base_url}/publish.sh | sh -s ./folder
#   curl -fsSL {base_url}/publish.sh | sh -s ./folder --preview NAME
#   curl -fsSL {base_url}/publish.sh | sh -s ./folder --create
#
# With --preview, the preview of SLIPWAY_SITE with this name shows the folder, and the site stays as it is; needs a key.
# With --create, the first publish creates the site SLIPWAY_SITE; needs a key.
# Without an account the site is new, and expires unless it is claimed. These variables change that:
#
#   SLIPWAY_KEY           API key: the site belongs to its account
#   SLIPWAY_SITE          name of the site to update
#   SLIPWAY_CLAIM_TOKEN   in place of a key, for a site without an account
#
# Exit codes: 1 other errors, 2 invalid arguments, 3 key or token refused, 4 limit reached, 5 network, 6 site refused, also
# as too large.
set -eu
umask 077

server={server}

# A function, so that an incompletely downloaded script does nothing.
main() {
  folder= preview= create=
  while [ $# -gt 0 ]; do
    case $1 in
    --preview)
      [ -n "${2-}" ] || fail 2 '--preview needs a name: sh -s ./folder --preview NAME'
      preview=$2
      shift
      ;;
    --create) create=yes ;;
    *)
      case $1 in -*) [ -d "./$1" ] || fail 2 "Unknown option: $(printable "$1"). Usage: sh -s ./folder [--preview NAME] [--create]" ;; esac
      [ -z "$folder" ] || fail 2 'Name one folder: sh -s ./folder'
      folder=$1
      ;;
    esac
    shift
  done
  [ -n "$folder" ] || fail 2 'Name one folder: sh -s ./folder'
  [ -d "$folder" ] || fail 2 "Folder not found: $(printable "$folder")"
  case $folder in
  /* | ./* | ../*) ;;
  *) folder=./$folder ;;
  esac
  CDPATH=
  refuse_links
  refuse_private
  site=${SLIPWAY_SITE-}
  [ -n "$site" ] || [ -z "${SLIPWAY_SITE+set}" ] || fail 2 'SLIPWAY_SITE is empty. To publish a new site: unset SLIPWAY_SITE'
  case $site in
  *[!a-z0-9-]*) fail 2 'SLIPWAY_SITE must be the name of a site, such as bakery' ;;
  esac
  case $preview in
  *[!a-z0-9-]*) fail 2 '--preview must be a name, such as pr-1' ;;
  esac
  [ -z "$preview" ] || [ -n "$site" ] || fail 2 'Set SLIPWAY_SITE to the name of the site of the preview'
  [ -z "$create" ] || [ -n "$site" ] || fail 2 'Set SLIPWAY_SITE to the name of the site to create'
  for program in curl tar; do
    command -v "$program" >/dev/null || fail 1 "$program is not installed"
  done

  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' HUP INT TERM

  : >"$work/skipped"
  pack
  upload
  report
}

# A link may be of another author than what it leads to, which has to be named if it is outside the folder of the link.
refuse_links() {
  path=$(without_slashes "$folder")
  while [ "$path" != "${path%/*}" ]; do
    above=$(without_slashes "${path%/*}")
    if [ -L "$path" ]; then
      target=$(cd -- "$path" && pwd -P)
      top=$(cd -- "$above/" && pwd -P)
      case $target in
      "${top%/}"/*) ;;
      *) fail 2 "$(printable "$path") is a link to $(printable "$target"), which is outside the folder of the link: name that folder" ;;
      esac
    fi
    path=$above
  done
}

# The data of a repository, folders of secrets and those of the system, by their names or by a link.
refuse_private() {
  target=$(cd -- "$folder" && pwd -P)
  home=$(cd -- "${HOME:-/}" 2>/dev/null && pwd -P) || home=/
  case $home/ in "${target%/}"/*) target=/proc ;; esac
  case $target/ in /proc/* | /sys/*) fail 6 "Refusing to publish $(printable "$folder"): name the folder of your site" ;; esac
  printf '%s/%s\n' "$folder" "$target" | tr 'A-Z/' 'a-z\n' |
    while read -r name; do
      case $name in
      .slipway) exit 1 ;;
      {secrets}) exit 1 ;;
      {repositories}) exit 1 ;;
      esac
    done || fail 6 "Refusing to publish $(printable "$folder"): name the folder of your site"
}

# A path without its final slashes.
without_slashes() {
  name=$1
  while [ "$name" != "${name%/}" ]; do
    name=${name%/}
  done
  printf '%s\n' "$name"
}

# Sends no secret, repository or hidden file at the top, nor node_modules, unless .slipwayignore may include it. The server
# leaves out those of subfolders and what .slipwayignore names, follows links that stay inside, and leaves out others.
pack() {
  (
    cd -- "$folder"
    set --
    includes=
    if [ -f .slipwayignore ]; then
      # The server needs it before the files that it includes.
      set -- ./.slipwayignore
      ! grep -q '^!' .slipwayignore || includes=yes
    fi
    for name in * .[!.]* ..?*; do
      if [ ! -e "$name" ] && [ ! -L "$name" ]; then
        continue
      fi
      case $(printf '%s' "$name" | tr 'A-Z' 'a-z') in
      .slipway | .slipwayignore) ;;
      .well-known) set -- "$@" "./$name" ;;
      {secrets}) skip secret ;;
      {repositories}) skip 'version control' ;;
      {system}) if [ -n "$includes" ]; then set -- "$@" "./$name"; else skip 'system file'; fi ;;
      node_modules) if [ -n "$includes" ]; then set -- "$@" "./$name"; else skip dependencies; fi ;;
      .*) if [ -n "$includes" ]; then set -- "$@" "./$name"; else skip hidden; fi ;;
      # GNU tar takes it for an escape sequence.
      *\\*) fail 6 "$(printable "$name"): must not contain a backslash; separate folders with '/'" ;;
      *) set -- "$@" "./$name" ;;
      esac
    done
    [ $# -gt 0 ] || fail 6 "No files to publish in $(printable "$folder")"
    # That of macOS writes files with holes in a form of its own, except into this format.
    case $(tar --version 2>&1) in bsdtar*) set -- --format=gnutar "$@" ;; esac
    tar -czf "$work/site.tar.gz" "$@" || fail 1 "Cannot pack $(printable "$folder")
  You must be allowed to read all of it, and TMPDIR needs space for an archive of it"
  )
}

# Lists a file or folder that is not sent.
skip() {
  [ ! -d "$name" ] || [ -L "$name" ] || name=$name/
  printf '%s (%s)\n' "$(printable "$name")" "$1" >>"$work/skipped"
}

# A name, which may have control characters.
printable() {
  printf '%s' "$1" | LC_ALL=C tr -c '\040-\176' '?'
}

# Credentials are in a file, because other users can read the arguments of a program.
upload() {
  : >"$work/headers"
  # Without a line break at its end, which a stored secret may have.
  key=$(printf '%s' "${SLIPWAY_KEY-}" | tr -d '\r')
  if [ -n "$key" ]; then
    header "Authorization: Bearer $key"
  elif [ -n "${SLIPWAY_CLAIM_TOKEN:-}" ]; then
    header "X-Slipway-Claim-Token: $SLIPWAY_CLAIM_TOKEN"
  elif [ -n "${SLIPWAY_KEY+set}" ]; then
    fail 3 'SLIPWAY_KEY is empty, as from a secret that is not set
  Set it to an API key. To publish without an account: unset SLIPWAY_KEY'
  fi
  query="ifChanged=true&keepTopFolder=true${preview:+&preview=$preview}"
  url="$server/$site?$query"
  [ -z "$create" ] || url="$server/?name=$site&update=true&$query"
  # A scan of the files may take minutes, in which nothing is sent.
  status=$(curl -sS --connect-timeout 30 --speed-limit 1 --speed-time 300 -T "$work/site.tar.gz" \
    -H 'Content-Type: application/gzip' -H 'X-Slipway-Client: publish.sh' --config "$work/headers" \
    -o "$work/answer" -w '%{http_code}' "$url") ||
    case $? in
    28) fail 5 "$server did not respond in time. Try again later" ;;
    *) fail 5 "Cannot reach $server" ;;
    esac
}

header() {
  case $1 in
  *[!A-Za-z0-9:\ ._-]*) fail 3 'The key or the claim token has invalid characters' ;;
  esac
  printf 'header = "%s"\n' "$1" >>"$work/headers"
}

report() {
  case $status in
  200 | 201)
    case $(sed 1q "$work/answer") in
    http://* | https://*) ;;
    *) fail 5 "$server does not answer as a Slipway server" ;;
    esac
    ;;
  *)
    message=$(field error)
    hint=$(field hint)
    case $(field code):$status in
    UNAUTHORIZED:* | INSUFFICIENT_SCOPE:* | INVALID_CLAIM_TOKEN:*)
      code=3
      hint='Set SLIPWAY_KEY to an API key with access to the site, or, for a site without an account, SLIPWAY_CLAIM_TOKEN'
      ;;
    # Hints for those who send the request themselves.
    *:400) code=6 hint= ;;
    *:404) code=2 ;;
    *_LIMIT_REACHED:* | QUOTA_EXCEEDED:* | *:429) code=4 ;;
    *:408 | *:3?? | *:5??) code=5 ;;
    *) code=6 ;;
    esac
    # These names are arguments.
    case $message in
    preview:* | name:*) code=2 ;;
    esac
    [ -z "$hint" ] || message="$message
  $hint"
    fail "$code" "${message:-The server answered with HTTP status $status}"
    ;;
  esac
  sed 1q "$work/answer"
  {
    count=$(sed -n '$=' "$work/skipped")
    case $count in
    '') ;;
    1) printf 'Skipped 1 file: %s\n' "$(skipped)" ;;
    *) printf 'Skipped %s files: %s\n' "$count" "$(skipped)" ;;
    esac
    sed 1d "$work/answer"
  } >&2
}

# What was left out here.
skipped() {
  sed '$!s/$/,/' "$work/skipped" | tr '\n' ' ' | sed 's/ $//'
}

# A string of the JSON of an error.
field() {
  tr -d '\n\r' <"$work/answer" |
    sed -n "s/.*\"$1\": *\"\([^\"\\\\]*\(\\\\.[^\"\\\\]*\)*\)\".*/\1/p" | sed 's/\\\(["\\]\)/\1/g'
}

fail() {
  printf 'slipway: %s\n' "$2" >&2
  exit "$1"
}

main "$@"
