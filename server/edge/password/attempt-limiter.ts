import { rateLimitSubnet } from '../../../packages/http-server/clients/client-ip.ts'
import { Component } from '../../lib/component.ts'
import { HOUR_MS, MINUTE_MS } from '../../lib/time.ts'
import { Signer } from '../../lib/tokens.ts'
import type { Queries } from '../../store/queries.ts'
import type { CounterWindow } from '../../store/tables/usage.ts'
import type { EdgeOptions } from '../edge-options.ts'

/**
 * Limits of wrong passwords (contract, "Serving", 7), so that one network cannot block a site's form for the others.
 * Right passwords are limited too: they cost the same, and any client can publish a site to send right ones to.
 */
const PER_MINUTE = { maxWrong: 5, maxRight: 60, milliseconds: MINUTE_MS }
const PER_HOUR_AND_NETWORK = { maxWrong: 20, maxRight: Number.POSITIVE_INFINITY, milliseconds: HOUR_MS }
const PER_HOUR = { maxWrong: 100, maxRight: Number.POSITIVE_INFINITY, milliseconds: HOUR_MS }

type AttemptWindow = ReturnType<typeof toWindow>

export interface Attempt {
  windows: readonly AttemptWindow[]
}

/** Exact over all processes: each attempt counts as wrong before it is verified; a right one is subtracted again. */
export class AttemptLimiter extends Component<Pick<EdgeOptions, 'store' | 'clock' | 'secret'>> {
  readonly #networks = new Signer(this.parts.secret, 'networks of password attempts')

  async begin(address: string, visitsKey: string): Promise<Attempt | { retryAfterSeconds: number }> {
    const now = this.parts.clock()
    // The store keeps no addresses.
    const network = this.#networks.sign([rateLimitSubnet(address)])
    const windows = [
      toWindow(`address:${network}`, PER_MINUTE, now),
      toWindow(`site:${visitsKey}:${network}`, PER_HOUR_AND_NETWORK, now),
      toWindow(`site:${visitsKey}`, PER_HOUR, now),
    ]
    // A read costs far less than a write, and most attempts come from callers over the limit.
    const full =
      (await findFullWindow(this.parts.store.read, windows)) ??
      (await this.parts.store.write('unread', { counter: windows.map(({ key }) => key) }, async (tx) => {
        const full = await findFullWindow(tx, windows)
        if (!full) await tx.counters.addEach(windows.map((window) => toCounter('guess', window)))
        return full
      }))
    return full ? { retryAfterSeconds: Math.max(1, Math.ceil((full.end - now) / 1000)) } : { windows }
  }

  async reset({ windows }: Attempt): Promise<void> {
    await this.parts.store.execute('unread', ({ counters }) =>
      counters.addEach(windows.map((window) => toCounter('right', window))),
    )
  }
}

function toWindow(key: string, { milliseconds, ...limits }: typeof PER_MINUTE, now: number) {
  const start = Math.floor(now / milliseconds) * milliseconds
  return { key, start, end: start + milliseconds, ...limits }
}

async function findFullWindow(
  { counters }: Queries,
  windows: readonly AttemptWindow[],
): Promise<AttemptWindow | undefined> {
  const counts = await counters.values(
    windows.flatMap((window) => [toCounter('guess', window), toCounter('right', window)]),
  )
  return windows.findLast(({ maxWrong, maxRight }, index) => {
    const [guesses, right] = [counts[2 * index]!, counts[2 * index + 1]!]
    return guesses - right >= maxWrong || right >= maxRight
  })
}

function toCounter(kind: 'guess' | 'right', { key, start }: AttemptWindow): CounterWindow {
  return { caller: `${kind}:${key}`, windowStart: start }
}
