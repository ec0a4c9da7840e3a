import type { VisitNumbers } from '../../client/wire/visits.ts'
import { figure, size } from '../../client/words.ts'

/** What is counted, in the order in which people ask for it. */
export const MEASURES: { of: keyof VisitNumbers; name: string; words: (value: number) => string }[] = [
  { of: 'visitors', name: 'Visitors', words: figure },
  { of: 'requests', name: 'Requests', words: figure },
  { of: 'bytes', name: 'Sent', words: size },
]
