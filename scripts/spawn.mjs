import { spawn } from 'node:child_process'
import { constants } from 'node:os'

/** Milliseconds within which the same signal from several senders counts as one. */
const REPEATED_SIGNAL_MS = 1000

/**
 * Runs a program with the terminal of this process, forwards signals to it, and resolves with how it ended. Rejects
 * when it cannot be started.
 *
 * `apart` starts it in a session of its own. Ctrl-C reaches every process of the terminal's group, and npm sends it
 * again to the script it runs: apart, the program receives the signal once, from here. An IPC channel lets it
 * detect the exit of this process (exit-with-parent.mjs).
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ apart?: boolean, cwd?: string, env?: NodeJS.ProcessEnv, stdio?: import('node:child_process').StdioOptions }} [options]
 * @returns {Promise<Ending>}
 */
export function run(command, args, { apart = false, stdio = 'inherit', ...options } = {}) {
  /** @type {import('node:child_process').StdioOptions} */
  const streams = apart ? ['inherit', 'inherit', 'inherit', 'ipc'] : stdio
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: streams, detached: apart })
    const stopForwarding = forwardSignals(child)
    child.once('error', (error) => {
      stopForwarding()
      reject(error)
    })
    child.once('exit', (code, signal) => {
      stopForwarding()
      resolve({ code, signal })
    })
  })
}

/**
 * Ends this process as the child ended: with its code, or by its signal.
 *
 * @typedef {{ code: number | null, signal: NodeJS.Signals | null }} Ending
 * @param {Ending} ending
 */
export function endAs({ code, signal }) {
  process.exitCode = signal ? 128 + constants.signals[signal] : (code ?? 1)
  if (signal) process.kill(process.pid, signal)
}

/** @param {import('node:child_process').ChildProcess} child */
function forwardSignals(child) {
  /** @type {Map<NodeJS.Signals, number>} */
  const last = new Map()
  /** @param {NodeJS.Signals} signal */
  const forward = (signal) => {
    const now = performance.now()
    const isRepeated = now - (last.get(signal) ?? -REPEATED_SIGNAL_MS) < REPEATED_SIGNAL_MS
    if (isRepeated) return
    last.set(signal, now)
    child.kill(signal)
  }
  /** @type {NodeJS.Signals[]} */
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  for (const signal of signals) process.on(signal, forward)
  return () => {
    for (const signal of signals) process.off(signal, forward)
  }
}
