import type { VisitNumbers } from '../../protocol/api/visits.schema.ts'
import { formatBytes, formatNumber } from '../../protocol/format.ts'

export interface Measure {
  of: keyof VisitNumbers
  name: string
  words: (value: number) => string
  /** For the axis of a plot. */
  brief: (value: number) => string
}

/** The counted values, in order of importance. */
export const MEASURES: readonly Measure[] = [
  { of: 'visitors', name: 'Visitors', words: formatNumber, brief: formatThousands },
  { of: 'requests', name: 'Requests', words: formatNumber, brief: formatThousands },
  {
    of: 'bytes',
    name: 'Bandwidth',
    words: formatBytes,
    brief: (bytes) => (bytes === 0 ? '0' : formatBytes(bytes)),
  },
]

/** "9,000", "20k", "1.5M". */
function formatThousands(value: number): string {
  if (value < 10_000) return formatNumber(value)
  const [unit, sign] = value < 1_000_000 ? [1000, 'k'] : [1_000_000, 'M']
  return (
    formatNumber(Math.floor(value / unit)) +
    (value % unit ? `.${Math.round((10 * (value % unit)) / unit)}` : '') +
    sign
  )
}
