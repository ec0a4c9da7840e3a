import { delimiter, join } from 'node:path'
import { alone } from './alone.mjs'
import { build, isBuilt } from './build.mjs'
import { install, isInstalled } from './install.mjs'
import { findNode } from './pinned-node.mjs'
import { root } from './root.mjs'

// This file and what it imports run on Node 18 and need no package: they are there before anything is installed.

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
