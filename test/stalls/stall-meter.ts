import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Measures turns of this thread's event loop in milliseconds of its CPU time, which is independent of the load of other
 * processes.
 */
export class StallMeter {
  #longest = 0
  #last = cpuMs()
  #timer: NodeJS.Immediate | undefined

  /** The longest turn during `work`. */
  async measure(work: () => Promise<unknown>): Promise<number> {
    this.#last = cpuMs()
    this.#schedule()
    await nextTurn()
    this.#longest = 0
    try {
      await work()
      await nextTurn()
    } finally {
      clearImmediate(this.#timer)
    }
    return this.#longest
  }

  #turn = () => {
    const now = cpuMs()
    this.#longest = Math.max(this.#longest, now - this.#last)
    this.#last = now
    this.#schedule()
  }

  /** Without a reference, so that the event loop waits for events instead of turning. */
  #schedule(): void {
    this.#timer = setImmediate(this.#turn).unref()
  }
}

/** CPU time of a fixed piece of work, in milliseconds: about 10 on a machine of 2024. */
export function calibrate(): number {
  const text = JSON.stringify(
    Array.from({ length: 20_000 }, (_, index) => ({ path: `${index}`, size: index })),
  )
  const started = cpuMs()
  for (let round = 0; round < 3; round++) JSON.parse(text)
  return cpuMs() - started
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
