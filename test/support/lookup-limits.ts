import { CircuitBreaker } from '../../server/lib/circuit-breaker.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { MissLimiter } from '../../server/lib/miss-limiter.ts'
import { HOUR_SECONDS, SECOND_MS } from '../../server/lib/time.ts'

/** A breaker of a source that notifies of all changes, unless `silenceMs` says otherwise. */
export function makeBreaker(
  options: Partial<ConstructorParameters<typeof CircuitBreaker>[0]> = {},
): CircuitBreaker {
  return new CircuitBreaker({
    silenceMs: () => 0,
    maxStaleMs: HOUR_SECONDS * SECOND_MS,
    clock: () => 0,
    metrics: new Metrics(),
    ...options,
  })
}

export function makeLookupLimits(options: Parameters<typeof makeBreaker>[0] = {}) {
  const { clock = () => 0, metrics = new Metrics() } = options
  return { breaker: makeBreaker(options), missLimiter: new MissLimiter({ clock, metrics }) }
}
