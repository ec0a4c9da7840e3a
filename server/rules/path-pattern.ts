import { inNfc } from '../nfc.ts'

/** What stands unencoded in a path that is compared: RFC 3986, 3.3. */
const PLAIN = /^[\w\-.~!$&'()*+,;=:@/]*$/

/** A name after a colon. */
const NAME = /^[A-Za-z]\w*$/

/** Text as it is, or the name of what was matched. */
export type Piece = string | { name: string }

/** What a pattern found: by name, percent-encoded as in `canonicalPath`. */
export type Found = ReadonlyMap<string, string>

const NOTHING_FOUND: Found = new Map()
const NO_NAMES: ReadonlySet<string> = new Set()
const NO_PIECES: readonly Piece[] = []

/**
 * The one spelling of a path in which rules and requests are compared: percent-encoded where it must be and nowhere
 * else, in Unicode NFC; an encoded slash stays one. Characters are the bytes of a request. Undefined when it is not
 * percent-encoded UTF-8.
 */
export function canonicalPath(path: string): string | undefined {
  if (PLAIN.test(path)) return path
  try {
    return encodeOdd(path)
      .split(/%2f/i)
      .map((part) => encodePart(inNfc(decodeURIComponent(part))))
      .join('%2F')
  } catch {
    return undefined
  }
}

/** A path out of a file, percent-encoded as far as it has to be and otherwise as it was written. */
export function encodePath(text: string): string {
  return encodeOdd(Buffer.from(text).toString('latin1'))
}

/** For `replace`: a character that stands for a byte of a request, percent-encoded. */
export function percentEncoded(byte: string): string {
  return `%${Buffer.from(byte, 'latin1').toString('hex').toUpperCase()}`
}

function encodeOdd(bytes: string): string {
  return bytes.replace(/[^%\w\-.~!$&'()*+,;=:@/]/g, percentEncoded)
}

function encodePart(text: string): string {
  return encodeURI(text).replace(/[?#]/g, encodeURIComponent)
}

/** A path with `:name` for one segment and at most one `*` for anything, matched in one pass. */
export class PathPattern {
  /** The names that it finds; `splat` for a `*`. */
  readonly names: ReadonlySet<string>
  /** The whole path, when nothing in it varies. */
  readonly fixed: string | undefined
  /** What every path that it matches begins with. */
  readonly lead: string
  readonly #front: readonly Piece[]
  /** What follows the `*`, if there is one. */
  readonly #back: readonly Piece[] | undefined
  readonly #separator: string

  private constructor(front: readonly Piece[], back: readonly Piece[] | undefined, separator: string) {
    const names = namesIn(front, back)
    this.names = names.length === 0 ? NO_NAMES : new Set(names)
    this.lead = typeof front[0] === 'string' ? front[0] : ''
    this.fixed = this.names.size === 0 ? this.lead : undefined
    this.#front = front
    this.#back = back
    this.#separator = separator
  }

  /** The pattern, or what is wrong with it, as the end of a sentence about it. Hosts have `.` as separator. */
  static read(text: string, separator: '/' | '.' = '/'): PathPattern | string {
    const [before = '', after, ...others] = text.split('*')
    if (others.length > 0) return "may have one '*' only"
    const front = readPieces(before, separator)
    const back = after === undefined ? undefined : readPieces(after, separator)
    if (typeof front === 'string') return front
    if (typeof back === 'string') return back
    const names = namesIn(front, back)
    const twice = names.find((name, index) => names.indexOf(name) < index)
    if (twice === 'splat' && back) return "cannot have both '*' and ':splat', which stands for it"
    return twice === undefined ? new PathPattern(front, back, separator) : `has ':${twice}' twice`
  }

  /** Takes a path as `canonicalPath` gives it. */
  match(path: string): Found | undefined {
    if (!path.startsWith(this.lead)) return undefined
    if (this.fixed !== undefined) return path === this.fixed ? NOTHING_FOUND : undefined
    const found = new Map<string, string>()
    const from = this.#forward(path, found)
    if (from === undefined) return undefined
    if (!this.#back) return from === path.length ? found : undefined
    const to = this.#backward(this.#back, path, found)
    if (to === undefined || to < from) return undefined
    return found.set('splat', path.slice(from, to))
  }

  /** Where the front ends. */
  #forward(path: string, found: Map<string, string>): number | undefined {
    let at = 0
    for (const piece of this.#front) {
      if (typeof piece === 'string') {
        if (!path.startsWith(piece, at)) return undefined
        at += piece.length
        continue
      }
      const next = path.indexOf(this.#separator, at)
      const end = next < 0 ? path.length : next
      if (end === at) return undefined
      found.set(piece.name, path.slice(at, end))
      at = end
    }
    return at
  }

  /** Where the back begins. */
  #backward(back: readonly Piece[], path: string, found: Map<string, string>): number | undefined {
    let end = path.length
    for (const piece of back.toReversed()) {
      if (typeof piece === 'string') {
        if (!path.endsWith(piece, end)) return undefined
        end -= piece.length
        continue
      }
      const start = path.lastIndexOf(this.#separator, end - 1) + 1
      if (start >= end) return undefined
      found.set(piece.name, path.slice(start, end))
      end = start
    }
    return end
  }
}

/** Whether there may be a path that both match. Never wrong when it says no. */
export function mayOverlap(one: PathPattern, other: PathPattern): boolean {
  if (one.fixed !== undefined) return other.match(one.fixed) !== undefined
  if (other.fixed !== undefined) return one.match(other.fixed) !== undefined
  return one.lead.startsWith(other.lead) || other.lead.startsWith(one.lead)
}

/** A text in which names that were found are to be filled in; a colon before any other name is just a colon. */
export function readTemplate(text: string, names: ReadonlySet<string>): readonly Piece[] {
  if (text === '') return NO_PIECES
  return text.split(/(:[A-Za-z]\w*)/).flatMap((part): Piece[] => {
    if (part === '') return []
    return part.startsWith(':') && names.has(part.slice(1)) ? [{ name: part.slice(1) }] : [part]
  })
}

/** `encode` is given what was found. */
export function fill(pieces: readonly Piece[], found: Found, encode: (value: string) => string): string {
  return pieces
    .map((piece) => (typeof piece === 'string' ? piece : encode(found.get(piece.name) ?? '')))
    .join('')
}

/** Characters that `fill` would give if each that was found became `growth` ones: what is too long costs no work. */
export function filledLength(pieces: readonly Piece[], found: Found, growth: number): number {
  let length = 0
  for (const piece of pieces) {
    length += typeof piece === 'string' ? piece.length : growth * (found.get(piece.name)?.length ?? 0)
  }
  return length
}

function namesIn(front: readonly Piece[], back: readonly Piece[] | undefined): string[] {
  const names = [...front, ...(back ?? [])].flatMap((piece) =>
    typeof piece === 'string' ? [] : [piece.name],
  )
  return back ? [...names, 'splat'] : names
}

/** Text between placeholders, canonical; what is wrong with it when a placeholder is not a whole segment. */
function readPieces(text: string, separator: string): Piece[] | string {
  const pieces: Piece[] = []
  let literal = ''
  const add = (): boolean => {
    const canonical = canonicalPath(literal)
    if (canonical) pieces.push(canonical)
    literal = ''
    return canonical !== undefined
  }
  for (const [index, segment] of text.split(separator).entries()) {
    if (index > 0) literal += separator
    if (!/^:[A-Za-z]/.test(segment)) {
      literal += segment
      continue
    }
    const name = segment.slice(1)
    if (!NAME.test(name))
      return `has '${segment}': a placeholder is a whole segment of letters, digits and '_'`
    if (!add()) return MALFORMED
    pieces.push({ name })
  }
  return add() ? pieces : MALFORMED
}

const MALFORMED = 'is not percent-encoded UTF-8'
