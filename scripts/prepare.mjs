import { createHash } from 'node:crypto'
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { alone } from './alone.mjs'
import { run } from './child.mjs'

// This file and what it imports run on Node 18 and need no package: they are there before anything is installed.

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

const pinnedNode = join(root, 'node_modules', '.bin', 'node')
const builtFrom = join(root, 'node_modules', '.client-built-from')

/** What a person can mend: its message is the whole explanation. */
export class Unprepared extends Error {}

/**
 * Installs the packages when they are not what package-lock.json asks for, builds the client when its sources
 * changed, and returns the Node that runs everything else. Throws Unprepared with a sentence when it cannot.
 */
export async function prepare() {
  if (!isInstalled() || !isBuilt()) {
    await alone(join(root, '.slipway', 'preparing'), async () => {
      if (!isInstalled()) await install()
      if (!isBuilt()) await build()
    })
  }
  return findNode()
}

/** The environment of everything that is started from here: the pinned Node first, and threads enough for parallel fsyncs. */
export function environment() {
  const PATH = [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter)
  return { ...process.env, PATH, UV_THREADPOOL_SIZE: process.env.UV_THREADPOOL_SIZE || '16' }
}

/** @param {string} sentence */
export function say(sentence) {
  process.stderr.write(`${sentence}\n`)
}

/**
 * Runs `work` and ends this process; what a person can mend is printed as a sentence, not as a stack.
 *
 * @param {() => Promise<void>} work
 */
export async function main(work) {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof Unprepared)) throw error
    say(error.message)
    process.exitCode = 1
  }
}

/**
 * npm writes node_modules/.package-lock.json as the last step of every installation. So it tells what is there,
 * whoever installed it, and an installation that was cut short has none.
 */
function isInstalled() {
  const wanted = readJson('package-lock.json').packages
  const found = readJson('node_modules/.package-lock.json')?.packages
  if (!found || (pinnedPackage() && !existsSync(pinnedNode))) return false
  return Object.entries(wanted).every(([path, { version, integrity, optional }]) => {
    if (path === '') return true
    const there = found[path]
    return there ? there.version === version && there.integrity === integrity : optional === true
  })
}

/**
 * By `npm install`, which leaves package-lock.json as it is and what is already there in place. `npm ci` would
 * refuse a lock that was made where the registry lacks an optional package of some other platform.
 */
async function install() {
  say('Installing what package-lock.json names; later starts skip this.')
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
    throw new Unprepared('npm was not found; it comes with Node (https://nodejs.org), 18 or later.')
  })
  if (signal)
    throw new Unprepared(`The installation was stopped (${signal}); the next start goes on with it.`)
  if (code !== 0) {
    throw new Unprepared(
      `npm could not install the packages (its reason is above, its code ${code}). Nothing was started.`,
    )
  }
  linkPinnedNode()
  if (!isInstalled()) {
    throw new Unprepared(
      'npm reported success but left out a package, most likely the pinned Node. Please try again.',
    )
  }
}

/** The npm that runs this script, on the Node that runs that npm: the pinned one may be replaced meanwhile. */
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

function isBuilt() {
  const dist = join(root, 'client', 'dist')
  return existsSync(dist) && existsSync(builtFrom) && readFileSync(builtFrom, 'utf8') === digestOfClient()
}

/** Types are for `npm test`: a wrong one must not keep the service from starting. */
async function build() {
  const digest = digestOfClient()
  const fresh = join(root, 'node_modules', '.client-dist')
  rmSync(fresh, { recursive: true, force: true })
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const args = [tsc, '-p', 'client/tsconfig.build.json', '--outDir', fresh, '--noCheck']
  const { code } = await run(findNode(), args, { cwd: root, stdio: ['ignore', 2, 2] })
  if (code !== 0) throw new Unprepared('The client could not be built; the reason is above.')
  const dist = join(root, 'client', 'dist')
  rmSync(dist, { recursive: true, force: true })
  renameSync(fresh, dist)
  writeFileSync(builtFrom, digest)
}

function digestOfClient() {
  const hash = createHash('sha256')
  for (const path of ['tsconfig.json', 'client/tsconfig.build.json', ...sourcesUnder('client')]) {
    hash
      .update(path)
      .update('\0')
      .update(readFileSync(join(root, path)))
      .update('\0')
  }
  return hash.digest('hex')
}

/**
 * @param {string} folder
 * @returns {string[]}
 */
function sourcesUnder(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.name !== 'dist' && entry.name !== 'node_modules')
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`
      if (entry.isDirectory()) return sourcesUnder(path)
      return path.endsWith('.ts') ? [path] : []
    })
    .sort()
}

function findNode() {
  if (existsSync(pinnedNode)) return pinnedNode
  const needed = Number.parseInt(Object.values(nodePackages())[0] ?? '', 10)
  if (Number.parseInt(process.versions.node, 10) >= needed) return process.execPath
  throw new Unprepared(
    `There is no pinned Node for ${process.platform}-${process.arch}: install Node ${needed} or later and run this again.`,
  )
}

/** npm 9 takes the link away when it leaves out the packages of other platforms, which name theirs alike. */
function linkPinnedNode() {
  const name = pinnedPackage()
  const found = name && readJson(`node_modules/${name}/package.json`)
  if (!found || existsSync(pinnedNode)) return
  rmSync(pinnedNode, { force: true })
  symlinkSync(join('..', name, found.bin.node), pinnedNode)
}

/** The package that holds the Node of this platform, if there is one. */
function pinnedPackage() {
  return Object.keys(nodePackages()).find((name) => name.endsWith(`-${process.platform}-${process.arch}`))
}

/** @returns {Record<string, string>} the packages that each hold the Node of one platform, with its version */
function nodePackages() {
  return readJson('package.json').optionalDependencies
}

/** @param {string} path */
function readJson(path) {
  const file = join(root, path)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}
