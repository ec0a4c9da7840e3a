import { delimiter, join } from 'node:path'
import { build, isBuilt } from './build.mjs'
import { install, isInstalled } from './install.mjs'
import { withLock } from './lock.mjs'
import { findNode } from './pinned-node.mjs'
import { root } from './root.mjs'

// This file and its imports run on Node 18 without packages: they run before anything is installed.

/**
 * Installs the packages when they do not match package-lock.json, builds what is older than its sources, and
 * returns the Node that runs everything else. Throws Unprepared with a sentence when that is impossible.
 */
export async function prepare() {
  if (!isInstalled() || !isBuilt()) {
    await withLock(join(root, '.slipway', 'preparing'), async () => {
      if (!isInstalled()) await install()
      if (!isBuilt()) await build()
    })
  }
  return findNode()
}

/**
 * The environment of child processes: the pinned Node first in PATH, and enough threads for parallel flushes.
 */
export function environment() {
  const PATH = [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter)
  return { ...process.env, PATH, UV_THREADPOOL_SIZE: process.env.UV_THREADPOOL_SIZE || '16' }
}
