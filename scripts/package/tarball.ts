import { execFileSync } from 'node:child_process'
import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { listGuides } from './contents.ts'
import { type PackageFile, writeFiles } from './package-file.ts'
import type { Release } from './release.ts'

interface TarballOptions {
  program: readonly PackageFile[]
  sbom: string
  release: Release
  /** An empty folder for the files of the package. */
  workFolder: string
  /** The file to create. */
  output: string
}

/** Runs a script of the package, whatever the current folder. */
const START = (script: string) => `#!/bin/sh
set -e
folder=$(dirname "$(readlink -f "$0")")
export UV_THREADPOOL_SIZE="\${UV_THREADPOOL_SIZE:-16}"
exec "$folder/bin/node" "$folder/${script}" "$@"
`

/** Builds `slipway-<version>-linux-x64.tar.gz`: sorted names, the user root, the time of the release. */
export async function buildTarball(options: TarballOptions): Promise<void> {
  const { program, sbom, release, workFolder, output } = options
  const name = `slipway-${release.version}-linux-x64`
  const files: PackageFile[] = [
    ...program,
    ...listGuides(),
    { path: 'slipway', from: { content: START('server/bin/slipway-server.js') }, mode: 0o755 },
    { path: 'slipway-client', from: { content: START('client/bin/slipway.js') }, mode: 0o755 },
    { path: 'sbom.cdx.json', from: { content: sbom } },
  ]
  writeFiles(join(workFolder, name), files, release.epoch)
  const tar = join(workFolder, 'slipway.tar')
  const owner = ['--owner=root:0', '--group=root:0', '--numeric-owner', '--format=gnu', '--sort=name']
  execFileSync('tar', ['--create', `--file=${tar}`, `--directory=${workFolder}`, ...owner, name])
  await pipeline(createReadStream(tar), createGzip({ level: 6 }), createWriteStream(output))
}
