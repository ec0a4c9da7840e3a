import type { VisitNumbers } from '../../client/wire/visits.ts'
import { figure, size } from '../../client/words.ts'

interface Measure {
  of: keyof VisitNumbers
  name: string
  words: (value: number) => string
  /** For the axis of a plot, where there is little room. */
  brief: (value: number) => string
}

/** What is counted, in the order in which people ask for it. */
export const MEASURES: readonly Measure[] = [
  { of: 'visitors', name: 'Visitors', words: figure, brief: thousands },
  { of: 'requests', name: 'Requests', words: figure, brief: thousands },
  { of: 'bytes', name: 'Sent', words: size, brief: (bytes) => (bytes === 0 ? '0' : size(bytes)) },
]

/** "9,000", "20k", "1.5M". */
function thousands(value: number): string {
  if (value < 10_000) return figure(value)
  const [unit, sign] = value < 1_000_000 ? [1000, 'k'] : [1_000_000, 'M']
  return (
    figure(Math.floor(value / unit)) +
    (value % unit ? `.${Math.round((10 * (value % unit)) / unit)}` : '') +
    sign
  )
}
