import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../root.mjs'
import { listGuides } from './contents.ts'
import { type PackageFile, writeFiles } from './package-file.ts'
import type { Release } from './release.ts'
import { createSettingsFile } from './settings-file.ts'

interface DebOptions {
  program: readonly PackageFile[]
  sbom: string
  release: Release
  /** An empty folder for the files of the package. */
  workFolder: string
  /** The file to create. */
  output: string
}

const PROGRAM_FOLDER = 'usr/lib/slipway'

/** Builds the package with dpkg-deb. gzip compresses to the same bytes whatever the number of threads. */
export function buildDeb({ program, sbom, release, workFolder, output }: DebOptions): void {
  const files: PackageFile[] = [
    ...program.map((file) => ({ ...file, path: `${PROGRAM_FOLDER}/${file.path}` })),
    ...listDebianFiles(sbom),
  ]
  const kilobytes = Math.ceil(program.reduce((sum, file) => sum + countBytes(file), 0) / 1024)
  const control = [
    { path: 'DEBIAN/control', from: { content: createControl(release, kilobytes) } },
    ...['preinst', 'postinst', 'prerm', 'postrm'].map((name) => ({
      path: `DEBIAN/${name}`,
      from: `deploy/debian/${name}`,
      mode: 0o755,
    })),
  ]
  writeFiles(workFolder, [...files, ...control], release.epoch)
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zgzip', '-z6', '--build', workFolder, output], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, SOURCE_DATE_EPOCH: String(release.epoch) },
  })
}

function listDebianFiles(sbom: string): PackageFile[] {
  const from = (name: string) => `deploy/debian/${name}`
  return [
    { path: 'usr/bin/slipway-server', from: from('slipway-server'), mode: 0o755 },
    { path: 'usr/bin/slipway', from: from('slipway'), mode: 0o755 },
    { path: `${PROGRAM_FOLDER}/defaults.env`, from: from('defaults.env') },
    { path: 'usr/lib/systemd/system/slipway.service', from: { content: createUnit() } },
    { path: 'usr/lib/systemd/system/slipway-backup.service', from: from('slipway-backup.service') },
    { path: 'usr/lib/systemd/system/slipway-backup.timer', from: from('slipway-backup.timer') },
    { path: `${PROGRAM_FOLDER}/slipway.env`, from: { content: createSettingsFile() } },
    { path: 'usr/share/doc/slipway/copyright', from: 'LICENSE' },
    { path: 'usr/share/doc/slipway/sbom.cdx.json', from: { content: sbom } },
    ...listGuides().map(({ path, from }) => ({ path: `usr/share/doc/slipway/${path}`, from })),
  ]
}

/** The unit of `deploy/` with the paths of the package: its command reads the settings. */
function createUnit(): string {
  return readFileSync(join(root, 'deploy/slipway.service'), 'utf8')
    .replace(/^ExecStart=.*$/m, 'ExecStart=/usr/bin/slipway-server')
    .replace(/^Documentation=.*$/m, 'Documentation=file:///usr/share/doc/slipway/docs/run.md')
    .replace(/^(?:Environment=SLIPWAY_DATA|EnvironmentFile)=.*\n/gm, '')
}

function createControl({ version }: Release, kilobytes: number): string {
  return `Package: slipway
Version: ${version}
Architecture: amd64
Maintainer: The Slipway authors <slipway@localhost>
Installed-Size: ${kilobytes}
Depends: libc6 (>= 2.28), libatomic1, libstdc++6, ca-certificates, passwd, util-linux
Section: web
Priority: optional
Description: publishing of static sites
 Slipway serves folders of files as sites of their own, with an API, a
 dashboard, a command line, custom domains and certificates.
`
}

function countBytes({ from }: PackageFile): number {
  return typeof from === 'string' ? statSync(join(root, from)).size : Buffer.byteLength(from.content)
}
