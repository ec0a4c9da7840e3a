import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { alone } from './alone.mjs'
import { run } from './child.mjs'
import { say } from './prepare.mjs'

/**
 * What tests need beside npm packages. A test names its part (test/tools/part.ts), `npm test` installs the Debian
 * packages of those whose programs are missing, and whoever cannot install them is told how.
 *
 * @typedef {{ programs: string[], packages: string[], for: string, root?: true, devices?: string[] }} Part
 * @satisfies {Record<string, Part>}
 */
export const parts = {
  chromium: { programs: ['chromium'], packages: ['chromium'], for: 'tests in a real browser' },
  smtp: { programs: ['aiosmtpd'], packages: ['python3-aiosmtpd'], for: 'tests that send real mail' },
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
 * Undefined when the part can be used here; else a sentence that says what is missing and how to get it.
 *
 * @param {PartName} name
 */
export function whatIsMissing(name) {
  /** @type {Part} */
  const part = parts[name]
  if (part.root && process.getuid?.() !== 0) return `needs ${name}: run it as root`
  const device = part.devices?.find((path) => !existsSync(path))
  if (device) return `needs ${name}: this machine has no ${device}`
  if (part.programs.every(program)) return undefined
  return `needs ${name}: sudo apt-get install --no-install-recommends ${part.packages.join(' ')}`
}

/** The path of a program, looked for where root's programs live too. */
export function program(/** @type {string} */ name) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin']
  return folders.map((folder) => join(folder, name)).find(isProgram)
}

/** Installs the Debian packages whose programs are missing: as root on Debian, and nowhere else. */
export async function installParts() {
  if (process.getuid?.() !== 0 || !program('apt-get') || missingPackages().length === 0) return
  await alone('/run/slipway-packages', async () => {
    const packages = missingPackages()
    if (packages.length === 0) return
    say(`Installing Debian packages that tests need: ${packages.join(' ')}.`)
    const wholeWell =
      (await aptGet(['update'])) && (await aptGet(['install', '--no-install-recommends', ...packages]))
    if (!wholeWell) say('apt-get failed (its reason is above); tests that need these packages say so below.')
  })
}

function missingPackages() {
  const missing = Object.values(parts).filter((part) => !part.programs.every(program))
  return missing.flatMap((part) => part.packages)
}

/** @param {string[]} args */
async function aptGet(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const quiet = ['-y', '-q=2', '-o', 'DPkg::Lock::Timeout=300', '-o', 'Dpkg::Use-Pty=0']
  const { code } = await run('apt-get', [...quiet, ...args], { env, stdio: ['ignore', 'ignore', 2] })
  return code === 0
}

/** @param {string} path */
function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
