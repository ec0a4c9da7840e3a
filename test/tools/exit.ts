import { constants } from 'node:os'

/** Newest last. */
const cleanups = new Set<() => void>()

/**
 * Runs a synchronous cleanup if this process exits before the returned function is called: the newest one first.
 * A process that a signal ends runs none, unless it calls `exitOnSignals`.
 */
export function atExit(cleanup: () => void): () => void {
  if (cleanups.size === 0) process.on('exit', runAll)
  cleanups.add(cleanup)
  return () => {
    cleanups.delete(cleanup)
    if (cleanups.size === 0) process.off('exit', runAll)
  }
}

/** Lets the signals that interrupt a program end this process after its cleanups. */
export function exitOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => process.exit(128 + constants.signals[signal]))
}

function runAll(): void {
  for (const cleanup of [...cleanups].reverse()) {
    try {
      cleanup()
    } catch (error) {
      console.error(error)
    }
  }
}
