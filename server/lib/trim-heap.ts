import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

type Collector = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

/**
 * Returns memory of the start to the system: loading the modules fills the heap's young generation, which V8
 * keeps otherwise. Measured: 15 of 98 MB for 23 ms, before the first request.
 */
export function trimHeap(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as Collector
  setFlagsFromString('--no-expose-gc')
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
