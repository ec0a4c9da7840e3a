import { setImmediate } from 'node:timers/promises'

/** Exceeded by at most one step. */
const SLICE_MS = 10

/** Runs the steps in slices, and yields to the event loop in between. */
export async function runInSlices<T>(steps: Generator<void, T>): Promise<T> {
  for (;;) {
    const end = performance.now() + SLICE_MS
    do {
      const step = steps.next()
      if (step.done) return step.value
    } while (performance.now() < end)
    await setImmediate()
  }
}
