import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findNode } from './pinned-node.mjs'
import { root } from './root.mjs'
import { SetupError } from './setup-error.mjs'
import { run } from './spawn.mjs'

/**
 * The build outputs: Kysely in one file, the client for any Node and as an npm package, the dashboard for browsers, the
 * content of the API reference from the routes of the server.
 *
 * @typedef {{ name: string, dist: string, from: string[], make: (folder: string) => string[][] }} Part
 *   `make` returns the arguments of Node for each step.
 * @type {Part[]}
 */
const parts = [
  {
    name: 'kysely',
    dist: 'server/store/dist',
    from: ['package-lock.json', 'scripts/kysely'],
    make: (folder) => [viteBuild('scripts/kysely', folder)],
  },
  {
    name: 'client',
    dist: 'client/dist',
    from: [
      'tsconfig.json',
      'package-lock.json',
      'client',
      'packages/files',
      'protocol',
      'scripts/pack-client.ts',
    ],
    // Types are checked by `npm test`: a type error must not keep the service from starting.
    make: (folder) => [
      [
        join(root, 'node_modules', 'typescript', 'bin', 'tsc'),
        ...['-p', 'client/tsconfig.build.json', '--outDir', folder, '--noCheck'],
      ],
      viteBuild('client', join(folder, 'cli')),
      [join(root, 'scripts', 'pack-client.ts'), folder],
    ],
  },
  {
    name: 'dashboard',
    dist: 'dashboard/dist',
    from: ['tsconfig.json', 'package-lock.json', 'client', 'dashboard', 'protocol'],
    make: (folder) => [viteBuild('dashboard', folder)],
  },
  {
    name: 'reference',
    dist: 'server/web/dist',
    from: ['package-lock.json', 'docs', 'protocol', 'server', 'scripts/reference'],
    make: (folder) => [[join(root, 'scripts', 'reference', 'main.ts'), folder]],
  },
]

/**
 * @param {string} project
 * @param {string} folder
 */
function viteBuild(project, folder) {
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')
  return [vite, 'build', project, '--outDir', folder, '--emptyOutDir', '--logLevel', 'warn']
}

/** Whether all build outputs are current. */
export function isBuilt() {
  return parts.every(isCurrent)
}

/** Builds what is stale, first Kysely: the reference is made by modules of the server. */
export async function build() {
  await makeStale(parts.slice(0, 1))
  await makeStale(parts.slice(1))
}

/** @param {Part[]} some */
async function makeStale(some) {
  await Promise.all(some.filter((part) => !isCurrent(part)).map(make))
}

/** @param {Part} part */
function isCurrent(part) {
  const { dist, builtFrom } = getPaths(part)
  return existsSync(dist) && existsSync(builtFrom) && readFileSync(builtFrom, 'utf8') === hashSources(part)
}

/** Beside its place first, so that a build that fails leaves what there was. @param {Part} part */
async function make(part) {
  const { dist, builtFrom, fresh } = getPaths(part)
  const digest = hashSources(part)
  rmSync(fresh, { recursive: true, force: true })
  for (const step of part.make(fresh)) {
    const { code } = await run(findNode(), step, { cwd: root, stdio: ['ignore', 2, 2] })
    if (code === 0) continue
    rmSync(fresh, { recursive: true, force: true })
    throw new SetupError(`The ${part.name} could not be built; the reason is above.`)
  }
  rmSync(dist, { recursive: true, force: true })
  renameSync(fresh, dist)
  writeFileSync(builtFrom, digest)
}

/** @param {Part} part */
function getPaths({ name, dist }) {
  const modules = join(root, 'node_modules')
  return {
    dist: join(root, dist),
    fresh: join(modules, `.${name}-dist-${process.pid}`),
    builtFrom: join(modules, `.${name}-built-from`),
  }
}

/** @param {Part} part */
function hashSources({ from }) {
  const hash = createHash('sha256')
  for (const path of from.flatMap(sourcesAt)) {
    hash
      .update(path)
      .update('\0')
      .update(readFileSync(join(root, path)))
      .update('\0')
  }
  return hash.digest('hex')
}

/**
 * @param {string} path a file or a folder
 * @returns {string[]}
 */
function sourcesAt(path) {
  if (/\.\w+$/.test(path)) return [path]
  return readdirSync(join(root, path), { withFileTypes: true })
    .filter((entry) => entry.name !== 'dist' && entry.name !== 'node_modules')
    .flatMap((entry) =>
      entry.isDirectory() ? sourcesAt(`${path}/${entry.name}`) : [`${path}/${entry.name}`],
    )
    .filter((name) => /\.(ts|tsx|js|json|css|html|md|svg|png|ico|webmanifest|woff2)$/.test(name))
    .sort()
}
