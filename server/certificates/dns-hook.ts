import { describeFailure, type HookProcessOptions, runHook } from '../lib/hook-process.ts'
import type { Log } from '../lib/log.ts'
import { Semaphore } from '../lib/semaphore.ts'

/**
 * Sets and removes TXT records through an external program: `program present NAME VALUE` and `program cleanup
 * NAME VALUE`. NAME is for example `_acme-challenge.example.com`, without a trailing dot; VALUE is the digest
 * of RFC 8555, 8.4. Exit code 0 of `present` means that all authoritative servers of the name serve the
 * record. One call runs at a time. Rejects with a message that contains the end of the program's output.
 */
export interface DnsHook {
  present(name: string, value: string): Promise<void>
  cleanup(name: string, value: string): Promise<void>
}

type DnsHookOptions = Pick<HookProcessOptions, 'program' | 'environment'> &
  Partial<Pick<HookProcessOptions, 'timeoutMs' | 'killDelayMs'>> & { log: Log }

const TIMEOUT_MS = 120_000
const MAX_QUEUED_CALLS = 100

export function dnsHook(options: DnsHookOptions): DnsHook {
  const { program, environment, log, timeoutMs = TIMEOUT_MS, killDelayMs } = options
  const semaphore = new Semaphore({ running: 1, waiting: MAX_QUEUED_CALLS })
  const call = (action: 'present' | 'cleanup') => async (name: string, value: string) => {
    if (!isSafe(name, value))
      throw new Error(`the DNS hook does not accept this record: ${JSON.stringify([name, value])}`)
    await semaphore.run(async () => {
      const args = [action, name, value]
      const run = runHook({ program, args, environment, timeoutMs, killDelayMs })
      const ended = await run.catch((cause: Error) => {
        throw new Error(`SLIPWAY_DNS_HOOK=${program} cannot be run: ${cause.message}`, { cause })
      })
      const failure = describeFailure(ended, timeoutMs)
      if (failure) throw new Error(`SLIPWAY_DNS_HOOK=${program} ${action} ${name} ${failure}`)
      log.info('DNS hook succeeded', { action, name })
    })
  }
  return { present: call('present'), cleanup: call('cleanup') }
}

/** Allows no character with a meaning for a shell or a zone file. */
function isSafe(name: string, value: string): boolean {
  return /^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/.test(name) && name.length <= 253 && /^[\w-]{1,255}$/.test(value)
}
