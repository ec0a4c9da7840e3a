#!/usr/bin/env node
// Plain JavaScript, so that with a warm cache nothing has to be compiled or stripped of types at a start, and so that
// every Node since 18 can read it.
import { existsSync } from 'node:fs'
import module from 'node:module'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const MIN_NODE = 26

if (Number.parseInt(process.versions.node, 10) >= MIN_NODE) {
  // Not in the temporary folder, where Node runs the code that another user of the machine has put there. Node has a cache
  // already where NODE_COMPILE_CACHE names one.
  if (module.getCompileCacheDir() === undefined) await enableCache()
  await import('../main.ts').catch(explainMissingBuild)
} else await startOnPinnedNode()

/**
 * Where the folder can be created: Node does not return from creating it below /proc. Without the cache, the first module
 * of TypeScript loads the compiler, which takes a quarter of the start and 15 MB.
 */
async function enableCache() {
  try {
    // Fails for a user that the system does not know, as in a container.
    const folder = join(homedir(), '.cache', 'slipway-server')
    if (!isAbsolute(folder)) return
    if (!existsSync(folder)) {
      const { makeFolder } = await import('../../packages/files/make-folder.ts')
      makeFolder(folder, 0o700)
    }
    module.enableCompileCache(folder)
  } catch {
    // A start without a cache takes longer.
  }
}

/** In a clone in which nothing was built yet, since what the build makes is loaded at a start. */
function explainMissingBuild(error) {
  if (error.code !== 'ERR_MODULE_NOT_FOUND' || !error.message.includes('/dist/')) throw error
  process.stderr.write('slipway-server: it is not built. Run npm run build in the folder of the clone.\n')
  process.exitCode = 1
}

/** Runs the same command on the Node that `npm install` installs, or prints why it cannot. */
async function startOnPinnedNode() {
  const node = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url))
  const script = fileURLToPath(import.meta.url)
  const scripts = new URL('../../scripts/', import.meta.url)
  if (!existsSync(node)) {
    process.stderr.write(
      `slipway-server: it needs Node ${MIN_NODE} or later, and this is Node ${process.versions.node}. Run npm install in the folder of the clone, or install a later Node.\n`,
    )
    process.exitCode = 1
    return
  }
  const { run, endAs } = await import(new URL('spawn.mjs', scripts).href)
  const args = ['--import', new URL('exit-with-parent.mjs', scripts).href, script, ...process.argv.slice(2)]
  endAs(await run(node, args, { apart: true }))
}
