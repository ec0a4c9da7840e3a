import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** The average bytes that a value holds in memory, over `count` values. */
export function measureHeapBytes(make: (number: number) => unknown, count: number): number {
  // Warm-up: shared data such as compiled code does not count.
  let kept: unknown[] = [make(-1)]
  const before = measureHeldBytes()
  kept = Array.from({ length: count }, (_, number) => make(number))
  const after = measureHeldBytes()
  if (kept.length !== count) throw new Error('it was collected')
  return (after - before) / count
}

/** Bytes that this process holds after garbage collection. */
export function measureHeldBytes(): number {
  for (let round = 0; round < 2; round++) collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
