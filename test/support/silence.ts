import type { SilenceMessage } from '../../scripts/server-messages.ts'

const listeners = new Set<() => void>()

// The runner starts the process of a group of files; processes that tests start have another parent.
if (process.env.TEST_RUNNER === String(process.ppid))
  process.on('message', ({ kind }: SilenceMessage) => {
    if (kind === 'silent') for (const listener of [...listeners]) listener()
  })

/**
 * Calls back when the runner has seen no test end for half of the time after which it ends the group: what waits then fails, so
 * that the test reports its line. Returns a function that stops listening.
 */
export function onSilence(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}
