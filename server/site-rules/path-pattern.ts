import { normalizeNfc } from '../../protocol/manifest/unicode.ts'

/** Characters that are not encoded in a canonical path: RFC 3986, 3.3. */
const PLAIN = /^[\w\-.~!$&'()*+,;=:@/]*$/

export const MAX_PLACEHOLDERS = 20

const NAME = /^[A-Za-z]\w*$/

export type TemplatePart = string | { name: string }

/** Captures by name, percent-encoded as in `canonicalPath`. */
export type Captures = ReadonlyMap<string, string>

export const NO_CAPTURES: Captures = new Map()
const NO_NAMES: ReadonlySet<string> = new Set()
const NO_PARTS: readonly TemplatePart[] = []

/**
 * The canonical form in which paths of rules and requests are compared: percent-encoded only where required, in Unicode NFC;
 * an encoded slash stays encoded. Characters are the bytes of a request. Undefined when it is not percent-encoded UTF-8.
 */
export function canonicalPath(path: string): string | undefined {
  if (PLAIN.test(path)) return path
  try {
    return encodeInvalid(path)
      .split(/%2f/i)
      .map((part) => encodeURI(normalizeNfc(decodeURIComponent(part))).replace(/[?#]/g, encodeURIComponent))
      .join('%2F')
  } catch {
    return undefined
  }
}

/** Percent-encodes a path of a rule file where required, and otherwise leaves it as written. */
export function encodePath(text: string): string {
  return encodeInvalid(Buffer.from(text).toString('latin1'))
}

/** A path as it was sent beside its canonical form: both have the same slashes. */
export class SentPath {
  readonly #sent: string
  /** The positions of the slashes in `#sent`, by those in the canonical path. */
  readonly #slashes: Int32Array

  private constructor(sent: string, canonical: string) {
    this.#sent = sent
    this.#slashes = new Int32Array(canonical.length)
    let there = -1
    for (let at = canonical.indexOf('/'); at >= 0; at = canonical.indexOf('/', at + 1)) {
      there = sent.indexOf('/', there + 1)
      this.#slashes[at] = there
    }
  }

  /** Encodes characters that URLs exclude; undefined when the path was sent in its canonical form. */
  static read(path: string, canonical: string): SentPath | undefined {
    return path === canonical ? undefined : new SentPath(encodeInvalid(path), canonical)
  }

  /** A part of the canonical path; its whole segments as they were sent. */
  slice(path: string, start: number, end: number): string {
    const from = path.indexOf('/', start - 1)
    const to = end >= path.length || path[end] === '/' ? end : path.lastIndexOf('/', end - 1)
    if (from < 0 || from >= to) return path.slice(start, end)
    const whole = this.#sent.slice(this.#find(from) + 1, this.#find(to))
    return path.slice(start, from + 1) + whole + path.slice(to, end)
  }

  #find(slash: number): number {
    return this.#slashes[slash] ?? this.#sent.length
  }
}

/** For `replace`: percent-encodes a character that stands for a byte of a request. */
export function percentEncoded(byte: string): string {
  return PERCENT_ENCODED[byte.charCodeAt(0)]!
}

/** A path may be 16 kB of characters to encode, which would take some milliseconds each time. */
const PERCENT_ENCODED = Array.from(
  { length: 256 },
  (_, byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
)

function encodeInvalid(bytes: string): string {
  return bytes.replace(/[^%\w\-.~!$&'()*+,;=:@/]/g, percentEncoded)
}

/** A path with `:name` for one segment and at most one `*` for anything, matched in one pass. */
export class PathPattern {
  /** `splat` for a `*`. */
  readonly names: ReadonlySet<string>
  readonly fixed: string | undefined
  /** The literal prefix of every matching path. */
  readonly lead: string
  readonly #front: readonly TemplatePart[]
  readonly #back: readonly TemplatePart[] | undefined
  readonly #separator: string

  private constructor(
    front: readonly TemplatePart[],
    back: readonly TemplatePart[] | undefined,
    separator: string,
  ) {
    const names = captureNames(front, back)
    this.names = names.length === 0 ? NO_NAMES : new Set(names)
    this.lead = typeof front[0] === 'string' ? front[0] : ''
    this.fixed = this.names.size === 0 ? this.lead : undefined
    this.#front = front
    this.#back = back
    this.#separator = separator
  }

  /** The pattern, or the end of a sentence that describes the error. Hosts use `.` as separator. */
  static read(text: string, separator: '/' | '.' = '/'): PathPattern | string {
    const [before = '', after, ...others] = text.split('*')
    if (others.length > 0) return "has more than one '*'"
    const front = parseTemplate(before, separator)
    const back = after === undefined ? undefined : parseTemplate(after, separator)
    if (typeof front === 'string') return front
    if (typeof back === 'string') return back
    const names = captureNames(front, back)
    if (names.length > MAX_PLACEHOLDERS) return `has more than ${MAX_PLACEHOLDERS} placeholders`
    const twice = names.find((name, index) => names.indexOf(name) < index)
    if (twice === 'splat' && back) return "has both '*' and ':splat', its name"
    return twice === undefined ? new PathPattern(front, back, separator) : `has ':${twice}' twice`
  }

  /** Takes a canonical path. With `sent`, whole segments are found as they were sent. */
  match(path: string, sent?: SentPath): Captures | undefined {
    if (!path.startsWith(this.lead)) return undefined
    if (this.fixed !== undefined) return path === this.fixed ? NO_CAPTURES : undefined
    const found = new Map<string, string>()
    const from = this.#forward(path, found, sent)
    if (from === undefined) return undefined
    if (!this.#back) return from === path.length ? found : undefined
    const to = this.#backward(this.#back, path, found)
    if (to === undefined || to < from) return undefined
    return found.set('splat', sent?.slice(path, from, to) ?? path.slice(from, to))
  }

  #forward(path: string, found: Map<string, string>, sent: SentPath | undefined): number | undefined {
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
      found.set(piece.name, sent?.slice(path, at, end) ?? path.slice(at, end))
      at = end
    }
    return at
  }

  #backward(back: readonly TemplatePart[], path: string, found: Map<string, string>): number | undefined {
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

/** Whether some path may match both. False is always right. */
export function mayOverlap(one: PathPattern, other: PathPattern): boolean {
  if (one.fixed !== undefined) return other.match(one.fixed) !== undefined
  if (other.fixed !== undefined) return one.match(other.fixed) !== undefined
  return one.lead.startsWith(other.lead) || other.lead.startsWith(one.lead)
}

/** A template with captures; a colon before any other name is literal. */
export function readTemplate(text: string, names: ReadonlySet<string>): readonly TemplatePart[] {
  if (text === '') return NO_PARTS
  return text.split(/(:[A-Za-z]\w*)/).flatMap((part): TemplatePart[] => {
    if (part === '') return []
    return part.startsWith(':') && names.has(part.slice(1)) ? [{ name: part.slice(1) }] : [part]
  })
}

/** `encode` receives each capture. */
export function interpolate(
  pieces: readonly TemplatePart[],
  found: Captures,
  encode: (value: string) => string,
): string {
  return pieces
    .map((piece) => (typeof piece === 'string' ? piece : encode(found.get(piece.name) ?? '')))
    .join('')
}

/** The length of `interpolate` if every captured character became `growth` characters: a cheap check before filling. */
export function interpolatedLength(pieces: readonly TemplatePart[], found: Captures, growth: number): number {
  let length = 0
  for (const piece of pieces) {
    length += typeof piece === 'string' ? piece.length : growth * (found.get(piece.name)?.length ?? 0)
  }
  return length
}

/** Measured: what a placeholder of a pattern and a piece of a template take in memory. */
const NAME_BYTES = 80
const PIECE_BYTES = 40

export function bytesOfNames(names: ReadonlySet<string>): number {
  return NAME_BYTES * names.size
}

export function bytesOfPieces(pieces: readonly TemplatePart[]): number {
  return PIECE_BYTES * pieces.length
}

function captureNames(front: readonly TemplatePart[], back: readonly TemplatePart[] | undefined): string[] {
  const names = [...front, ...(back ?? [])].flatMap((piece) =>
    typeof piece === 'string' ? [] : [piece.name],
  )
  return back ? [...names, 'splat'] : names
}

/** Literal text between placeholders, canonical; an error when a placeholder is not a whole segment. */
function parseTemplate(text: string, separator: string): TemplatePart[] | string {
  const pieces: TemplatePart[] = []
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
      return `has an invalid placeholder '${segment}'. A placeholder is a whole segment of letters, digits and '_'.`
    if (!add()) return MALFORMED
    pieces.push({ name })
  }
  return add() ? pieces : MALFORMED
}

const MALFORMED = 'is not percent-encoded UTF-8'
