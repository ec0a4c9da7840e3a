import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { installPackages, mayInstallPackages } from './debian.mjs'
import { print } from './print.mjs'
import { readJson, root } from './root.mjs'
import { SetupError } from './setup-error.mjs'

const pinnedNode = join(root, 'node_modules', '.bin', 'node')

/**
 * The Node that runs everything: the pinned one, or the current one where none is pinned and it is new
 * enough.
 */
export function findNode() {
  if (existsSync(pinnedNode)) return pinnedNode
  const needed = Number.parseInt(Object.values(nodePackages())[0] ?? '', 10)
  if (Number.parseInt(process.versions.node, 10) >= needed) return process.execPath
  throw new SetupError(
    `There is no pinned Node for ${process.platform}-${process.arch}: install Node ${needed} or later and run this again.`,
  )
}

/** Whether the pinned Node is installed, on platforms that have one. */
export function hasPinnedNode() {
  return !pinnedPackage() || existsSync(pinnedNode)
}

/** npm 9 removes the link when it omits the packages of other platforms, which share its name. */
export function linkPinnedNode() {
  const name = pinnedPackage()
  const found = name && readJson(`node_modules/${name}/package.json`)
  if (!found || existsSync(pinnedNode)) return
  rmSync(pinnedNode, { force: true })
  symlinkSync(join('..', name, found.bin.node), pinnedNode)
}

/** Debian packages that the pinned Node needs; small images lack the first. */
const NODE_LIBRARIES = ['libatomic1', 'libstdc++6']

/** Installs what the pinned Node lacks on this machine, or throws Unprepared with its output. */
export async function makePinnedNodeRun() {
  if (!pinnedPackage() || reasonNotToRun() === undefined) return
  if (mayInstallPackages()) {
    print('The pinned Node needs Debian packages.')
    await installPackages(NODE_LIBRARIES)
  }
  const reason = reasonNotToRun()
  if (reason === undefined) return
  // Removed, so that npm runs its scripts on the Node that is installed.
  rmSync(pinnedNode)
  throw new SetupError(
    `The pinned Node does not run here: ${reason}\nOn Debian: sudo apt-get install ${NODE_LIBRARIES.join(' ')}`,
  )
}

function reasonNotToRun() {
  const { status, stderr, error } = spawnSync(pinnedNode, ['--version'], { encoding: 'utf8' })
  return status === 0 ? undefined : stderr?.trim() || error?.message || `it ended with ${status}`
}

/** The package with the Node of this platform, if there is one. */
function pinnedPackage() {
  return Object.keys(nodePackages()).find((name) => name.endsWith(`-${process.platform}-${process.arch}`))
}

/** @returns {Record<string, string>} the packages that each hold the Node of one platform, with its version */
function nodePackages() {
  return readJson('package.json').optionalDependencies
}
