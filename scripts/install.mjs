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
  const wanted = readJson('package-lock.json').packages
  const found = readJson('node_modules/.package-lock.json')?.packages
  if (!found || !hasPinnedNode()) return false
  return Object.entries(wanted).every(([path, { version, integrity, optional }]) => {
    if (path === '') return true
    const there = found[path]
    return there ? there.version === version && there.integrity === integrity : optional === true
  })
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
  const { command, args } = npm()
  const flags = [
    '--no-save',
    '--include=dev',
    '--include=optional',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
  ]
  const { code, signal } = await run(command, [...args, 'install', ...flags, '--loglevel=error'], {
    cwd: root,
    env: { ...process.env, PATH: pathWithoutOwnBinaries() },
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
  linkPinnedNode()
  if (!isInstalled()) {
    throw new SetupError(
      'npm reported success but left out a package, most likely the pinned Node. Please try again.',
    )
  }
  await makePinnedNodeRun()
}

/** The npm that runs this script, on its own Node: the pinned one may be replaced during the installation. */
function npm() {
  const { npm_execpath: script, npm_node_execpath: node } = process.env
  return script && node ? { command: node, args: [script] } : { command: 'npm', args: [] }
}

function pathWithoutOwnBinaries() {
  const own = join(root, 'node_modules', '.bin')
  return (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => folder !== own)
    .join(delimiter)
}
