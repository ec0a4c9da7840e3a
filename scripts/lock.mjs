import { mkdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * Does `work` while no other process does it under the same lock, waiting for its turn. The lock is a link whose
 * target is the number of the process that holds it: made in one step with its content, and void when that
 * process is gone.
 *
 * @param {string} lock
 * @param {() => Promise<void>} work
 */
export async function withLock(lock, work) {
  mkdirSync(dirname(lock), { recursive: true })
  await acquire(lock)
  try {
    await work()
  } finally {
    rmSync(lock, { force: true })
  }
}

/** @param {string} lock */
async function acquire(lock) {
  let isAnnounced = false
  while (!tryAcquire(lock)) {
    const holder = readHolder(lock)
    if (holder === undefined) continue
    if (!isAlive(holder)) rmSync(lock, { force: true })
    else {
      if (!isAnnounced)
        process.stderr.write(`Process ${holder} is preparing this already; waiting for it (${lock}).\n`)
      isAnnounced = true
      await pause(200)
    }
  }
}

/** @param {string} lock */
function tryAcquire(lock) {
  try {
    symlinkSync(String(process.pid), lock)
    return true
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false
    throw error
  }
}

/** @param {string} lock */
function readHolder(lock) {
  try {
    return Number(readlinkSync(lock))
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return undefined
    throw error
  }
}

/** @param {number} pid our own one was left by a process before us, as happens when a container starts again */
function isAlive(pid) {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM'
  }
}
