import { existsSync } from 'node:fs'
import { installPackages, mayInstallPackages } from './debian.mjs'
import { withLock } from './lock.mjs'
import { print } from './print.mjs'
import { program } from './program.mjs'

/**
 * What tests need beside npm packages. A test names its part (test/tools/part.ts), `npm test` installs the Debian
 * packages of those whose programs are missing, and prints how to install them when it may not.
 *
 * Only `npm run nightly` installs those that are `nightly`: only files named `*.nightly.test.ts` need them.
 *
 * @typedef {{ programs: string[], packages: string[], files?: string[], for: string, root?: true, devices?: string[], nightly?: true }} Part
 * @satisfies {Record<string, Part>}
 */
export const parts = {
  chromium: {
    programs: ['chromium-headless-shell'],
    packages: ['chromium-headless-shell'],
    for: 'tests in a real browser',
  },
  firefox: {
    programs: ['firefox-esr'],
    packages: ['firefox-esr'],
    for: 'a walk with Firefox',
    nightly: true,
  },
  strace: { programs: ['strace'], packages: ['strace'], for: 'tests on a disk that fails', root: true },
  'small-disk': {
    programs: ['mount', 'umount'],
    packages: ['mount'],
    for: 'tests that fill a disk',
    root: true,
  },
  smtp: { programs: ['aiosmtpd'], packages: ['python3-aiosmtpd'], for: 'tests that send real mail' },
  requests: {
    programs: ['python3'],
    files: ['/usr/lib/python3/dist-packages/requests/__init__.py'],
    packages: ['python3-requests'],
    for: 'a test with two HTTP clients of Python',
    nightly: true,
  },
  go: {
    programs: ['go'],
    packages: ['golang-go'],
    for: 'a test with the HTTP client of Go',
    nightly: true,
  },
  curl: { programs: ['curl'], packages: ['curl'], for: 'tests of the examples with curl' },
  busybox: {
    programs: ['busybox', 'dash', 'curl'],
    packages: ['busybox', 'dash', 'curl'],
    for: 'tests of the script that publishes without Node.js',
  },
  archivers: {
    programs: ['zip', 'tar', 'python3'],
    packages: ['zip', 'tar', 'python3'],
    for: 'tests with archives of common archivers',
  },
  'all-archivers': {
    programs: ['7z', 'bsdtar', 'cpio', 'unzip', 'jar', 'git', 'zip', 'busybox'],
    packages: [
      ...['p7zip-full', 'libarchive-tools', 'cpio', 'unzip', 'default-jdk-headless', 'git', 'zip', 'busybox'],
    ],
    for: 'a comparison with what other programs extract from archives',
    nightly: true,
  },
  'site-builders': {
    programs: ['hugo', 'sphinx-build'],
    packages: ['hugo', 'python3-sphinx', 'git-doc', 'python3.11-doc'],
    for: 'sites that other programs build',
    nightly: true,
  },
  dpkg: {
    programs: ['dpkg-deb', 'tar', 'git'],
    packages: ['dpkg', 'tar', 'git'],
    for: 'a test of the packages',
  },
  git: { programs: ['git'], packages: ['git'], for: 'tests that compare ignore rules with those of git' },
  nginx: {
    programs: ['nginx'],
    packages: ['nginx-light'],
    for: 'a comparison with nginx, and tests with it in front',
  },
  pebble: {
    programs: ['pebble', 'pebble-challtestsrv', 'openssl'],
    packages: ['pebble', 'openssl'],
    for: 'tests with a certificate authority',
  },
  lego: {
    programs: ['lego'],
    packages: ['lego'],
    for: 'a test with lego as the client of a certificate authority',
    nightly: true,
  },
  knot: {
    programs: ['knotd', 'nsupdate'],
    packages: ['knot', 'bind9-dnsutils'],
    for: 'tests with an authoritative DNS server',
  },
  clamd: { programs: ['clamd'], packages: ['clamav-daemon'], for: 'tests with a virus scanner' },
  unbound: { programs: ['unbound'], packages: ['unbound'], for: 'tests with a DNS resolver' },
  caddy: { programs: ['caddy'], packages: ['caddy'], for: 'tests with Caddy in front' },
  postgres: {
    programs: ['postgres', 'initdb', 'pg_basebackup'],
    packages: ['postgresql-15'],
    for: 'tests with PostgreSQL',
  },
  pgbouncer: {
    programs: ['pgbouncer'],
    packages: ['pgbouncer'],
    for: 'tests with PgBouncer before PostgreSQL',
  },
  ceph: {
    programs: ['ceph', 'ceph-mon', 'ceph-osd', 'radosgw'],
    packages: ['ceph-common', 'ceph-mon', 'ceph-osd', 'radosgw'],
    for: 'tests with an S3 server',
  },
  haproxy: { programs: ['haproxy'], packages: ['haproxy'], for: 'tests with HAProxy in front' },
  promtool: {
    programs: ['promtool'],
    packages: ['prometheus'],
    for: 'checks of metrics and alert rules',
  },
  h2load: { programs: ['h2load'], packages: ['nghttp2-client'], for: 'tests and figures of HTTP/2' },
  proc: { programs: [], packages: [], for: 'tests that end one worker', devices: ['/proc/self/task'] },
  descriptors: {
    programs: ['prlimit'],
    packages: ['util-linux'],
    for: 'tests without free file descriptors',
    devices: ['/proc/self/fd'],
  },
  'power-cut': {
    programs: ['nbdkit', 'nbdfuse', 'mkfs.ext4', 'losetup'],
    packages: ['nbdkit', 'libnbd-bin', 'e2fsprogs', 'mount'],
    for: 'tests that cut the power under the server',
    root: true,
    devices: ['/dev/fuse', '/dev/loop-control'],
  },
}

/** @typedef {keyof typeof parts} PartName */

/**
 * Undefined when the part is available here; else a sentence with what is missing and how to install it.
 *
 * @param {PartName} name
 */
export function whatIsMissing(name) {
  /** @type {Part} */
  const part = parts[name]
  if (part.root && process.getuid?.() !== 0) return `needs ${name}: run it as root`
  const device = part.devices?.find((path) => !existsSync(path))
  if (device) return `needs ${name}: this machine has no ${device}`
  if (isInstalled(part)) return undefined
  return `needs ${name}: sudo apt-get install --no-install-recommends ${part.packages.join(' ')}`
}

/**
 * Installs the Debian packages of missing programs, where that is allowed.
 *
 * @param {{ nightly: boolean }} tier
 */
export async function installParts({ nightly }) {
  if (!mayInstallPackages() || incomplete(nightly).length === 0) return
  await withLock('/run/slipway-packages', async () => {
    const missing = incomplete(nightly)
    if (missing.length === 0) return
    const width = Math.max(...missing.map(({ packages }) => packages.join(' ').length))
    const rows = missing.map((part) => `  ${part.packages.join(' ').padEnd(width)}  ${part.for}`)
    print(['Tests need these Debian packages:', ...rows].join('\n'))
    await installPackages([...new Set(missing.flatMap((part) => part.packages))])
  })
}

/**
 * @param {boolean} nightly
 * @returns {Part[]}
 */
function incomplete(nightly) {
  /** @type {Part[]} */
  const all = Object.values(parts)
  return all.filter((part) => (nightly || !part.nightly) && !isInstalled(part))
}

/** @param {Part} part */
function isInstalled({ programs, files = [] }) {
  return programs.every(program) && files.every(existsSync)
}
