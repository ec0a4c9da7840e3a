import { ENCODINGS, type Encoding } from '../encodings/encoding.ts'

/** What a client takes: an encoding of a file, or the file as it was published. */
export type Coding = Encoding | 'identity'

const CODINGS: readonly Coding[] = [...ENCODINGS, 'identity']

/** Below every weight that a client can give: what is not named is taken when nothing named is there. */
const LEAST = 0.0001

/** Headers whose meaning is remembered: browsers send a handful of them. */
const MOST_KNOWN = 500
const LONGEST = 200

const known = new Map<string, readonly Coding[]>()

/**
 * The codings that an Accept-Encoding header takes, the one to choose first (RFC 9110, 12.5.3): by weight, and among
 * equals in our order.
 */
export function codingsIn(header: string): readonly Coding[] {
  const remembered = known.get(header)
  if (remembered) return remembered
  const codings = ranked(weightsIn(header))
  if (header.length > LONGEST) return codings
  if (known.size >= MOST_KNOWN) known.clear()
  known.set(header, codings)
  return codings
}

function ranked(weights: ReadonlyMap<string, number>): readonly Coding[] {
  const others = weights.get('*')
  const weight = (coding: Coding) => weights.get(coding) ?? others ?? (coding === 'identity' ? LEAST : 0)
  return CODINGS.filter((coding) => weight(coding) > 0).sort((one, two) => weight(two) - weight(one))
}

function weightsIn(header: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const element of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = element.split(';').map((part) => part.trim())
    const weight = weightOf(parameters)
    if (name !== '' && weight !== undefined) weights.set(name === 'x-gzip' ? 'gzip' : name, weight)
  }
  return weights
}

/** Undefined when the weight is none: then nothing is known of the coding. */
function weightOf(parameters: readonly string[]): number | undefined {
  const weight = parameters.find((parameter) => /^q\s*=/.test(parameter))
  if (weight === undefined) return 1
  const [, value] = /^q=(\d+(?:\.\d*)?)$/.exec(weight) ?? []
  return value === undefined ? undefined : Math.min(1, Number(value))
}
