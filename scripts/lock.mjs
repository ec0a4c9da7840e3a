import { mkdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * Runs `work` under an exclusive lock, and waits until the lock is free. The lock is a symbolic link to the process
 * id of its holder: created atomically with its content, and stale when that process has exited.
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

/** @param {number} pid its own id is stale: an earlier process had it, as after a restart of a container */
function isAlive(pid) {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM'
  }
}
