import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes that a value holds in memory, on average of `count` of them. */
export function heapBytesOf(make: (number: number) => unknown, count: number): number {
  // What the first one makes for all others, such as compiled code, is not counted.
  let kept: unknown[] = [make(-1)]
  const before = heldBytes()
  kept = Array.from({ length: count }, (_, number) => make(number))
  const after = heldBytes()
  if (kept.length !== count) throw new Error('it was collected')
  return (after - before) / count
}

/** Bytes that this process holds after a collection. */
export function heldBytes(): number {
  for (let round = 0; round < 2; round++) collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
