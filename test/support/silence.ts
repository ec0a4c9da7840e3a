import type { SilenceMessage } from '../../scripts/server-messages.ts'
import { MAX_SILENCE_MS } from '../../scripts/silence.ts'

/** What waits after this time fails, so that the test reports its line before the runner ends the group. */
export const LONG_SILENCE_MS = MAX_SILENCE_MS / 2

const listeners = new Set<(silentMs: number) => void>()

// The runner starts the process of a group of files; processes that tests start have another parent.
if (process.env.TEST_RUNNER === String(process.ppid))
  process.on('message', ({ kind, silentMs }: SilenceMessage) => {
    if (kind === 'silent') for (const listener of [...listeners]) listener(silentMs)
  })

/**
 * Calls back every 15 seconds in which no test ends, with their sum: seconds of CPU time that the group used or could have used
 * (scripts/silence.ts). Returns a function that stops listening.
 */
export function onSilence(listener: (silentMs: number) => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}
