import { delimiter, join } from 'node:path'
import { hasPinnedNode, linkPinnedNode, makePinnedNodeRun } from './pinned-node.mjs'
import { print } from './print.mjs'
import { readJson, root } from './root.mjs'
import { SetupError } from './setup-error.mjs'
import { run } from './spawn.mjs'

/**
 * npm writes node_modules/.package-lock.json as the last step of every installation, so its absence shows an
 * interrupted one.
 */
export function isInstalled() {
  return hasPinnedNode() && findMissing()?.length === 0
}

/** @typedef {{ version: string, integrity: string, optional?: boolean, os?: string | string[], cpu?: string | string[], libc?: string[] }} Locked */

/** The paths of packages that are not installed as package-lock.json has them; undefined before the first installation. */
function findMissing() {
  /** @type {Record<string, Locked>} */
  const wanted = readJson('package-lock.json').packages
  /** @type {Record<string, Locked> | undefined} */
  const found = readJson('node_modules/.package-lock.json')?.packages
  return (
    found &&
    Object.entries(wanted).flatMap(([path, { version, integrity, ...locked }]) => {
      const there = found[path]
      if (path === '' || (!there && locked.optional && !isForThisPlatform(locked))) return []
      return there && there.version === version && there.integrity === integrity ? [] : path
    })
  )
}

/** Whether an optional package is a program for this platform. @param {Pick<Locked, 'os' | 'cpu' | 'libc'>} locked */
function isForThisPlatform({ os, cpu, libc }) {
  if (![os].flat().includes(process.platform) || ![cpu].flat().includes(process.arch)) return false
  return !libc || libc.includes(usesGlibc() ? 'glibc' : 'musl')
}

function usesGlibc() {
  const { header } = /** @type {{ header: object }} */ (process.report.getReport())
  return 'glibcVersionRuntime' in header
}

/** The size of node_modules in MB, two thirds of it the pinned Node and the compilers of the dashboard. */
export const INSTALLED_MB = 600

/**
 * Uses `npm install`, which keeps package-lock.json and what is installed. `npm ci` would reject a lock that
 * was made where the registry lacks an optional package of another platform.
 */
export async function install() {
  print(
    `Installing the packages of package-lock.json into node_modules, about ${INSTALLED_MB} MB; later starts skip this.`,
  )
  await runNpm([])
  // npm leaves out optional packages whose `engines` exclude its own Node, although the pinned one runs them.
  const leftOut = findMissing() ?? []
  if (leftOut.length > 0) await runNpm(leftOut.map(toSpecifier))
  linkPinnedNode()
  const missing = findMissing() ?? ['all packages']
  if (missing.length > 0 || !hasPinnedNode())
    throw new SetupError(
      `npm reported success but left out ${missing.join(', ') || 'the pinned Node'}. Please try again.`,
    )
  await makePinnedNodeRun()
}

/** @param {string} path in node_modules, where it is not that of a package of another one */
function toSpecifier(path) {
  const { version } = readJson('package-lock.json').packages[path]
  return `${path.slice('node_modules/'.length)}@${version}`
}

/** @param {readonly string[]} specifiers of packages that are installed besides those that npm selects */
async function runNpm(specifiers) {
  const { command, args, env } = npm()
  const flags = [
    '--no-save',
    '--include=dev',
    '--include=optional',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ]
  const { code, signal } = await run(command, [...args, 'install', ...flags, ...specifiers], {
    cwd: root,
    env,
    stdio: ['ignore', 2, 2],
  }).catch(() => {
    throw new SetupError('npm was not found; it comes with Node (https://nodejs.org), 18 or later.')
  })
  if (signal) throw new SetupError(`The installation was stopped (${signal}); the next start resumes it.`)
  if (code !== 0) {
    throw new SetupError(
      `npm could not install the packages (its reason is above, its code ${code}). Nothing was started.`,
    )
  }
}

/**
 * The npm of the user, on its own Node: with the pinned one, which may be replaced during the installation, it would not
 * read the user's global settings, such as the certificates of a proxy.
 */
export function npm() {
  const { npm_execpath: script, npm_node_execpath: node } = process.env
  const env = { ...process.env, PATH: pathWithoutOwnBinaries() }
  return script && node ? { command: node, args: [script], env } : { command: 'npm', args: [], env }
}

function pathWithoutOwnBinaries() {
  const own = join(root, 'node_modules', '.bin')
  return (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => folder !== own)
    .join(delimiter)
}
