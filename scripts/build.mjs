import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './child.mjs'
import { findNode } from './pinned-node.mjs'
import { root } from './root.mjs'
import { Unprepared } from './unprepared.mjs'

const dist = join(root, 'client', 'dist')
const builtFrom = join(root, 'node_modules', '.client-built-from')

/** Whether client/dist is what the client's sources make now. */
export function isBuilt() {
  return existsSync(dist) && existsSync(builtFrom) && readFileSync(builtFrom, 'utf8') === digestOfClient()
}

/** Builds the client. Types are for `npm test`: a wrong one must not keep the service from starting. */
export async function build() {
  const digest = digestOfClient()
  const fresh = join(root, 'node_modules', '.client-dist')
  rmSync(fresh, { recursive: true, force: true })
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const args = [tsc, '-p', 'client/tsconfig.build.json', '--outDir', fresh, '--noCheck']
  const { code } = await run(findNode(), args, { cwd: root, stdio: ['ignore', 2, 2] })
  if (code !== 0) throw new Unprepared('The client could not be built; the reason is above.')
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
