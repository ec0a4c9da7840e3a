import { HTTP1_ONLY_HEADERS } from '../../http2-request.ts'
import { STATIC_TABLE } from './static-table.ts'

/** Length of a `Date` value (RFC 9110, 5.6.7). */
const DATE_LENGTH = 29

/** The first index of each name. */
const INDEXES = new Map<string, number>()
const STATUSES = new Map<string, number>()
for (const [at, { name, value }] of STATIC_TABLE.entries()) {
  if (!INDEXES.has(name)) INDEXES.set(name, at + 1)
  if (name === ':status') STATUSES.set(value, at + 1)
}

const INDEXED = 0x80
const WITHOUT_INDEXING = 0x00
/** Never-indexed literals (RFC 7541, 7.1.3). */
const NEVER_INDEXED = 0x10

/** A dynamic table size update to zero: the encoder never uses the table (RFC 7541, 6.3). */
export const EMPTY_TABLE_UPDATE = 0x20

/** The dynamic table is not used: the bytes are valid on every connection. Drops connection headers; text is latin1. */
export function encodeHeaders(status: number, date: string | undefined, lines: readonly string[]): Buffer {
  const pieces: Buffer[] = [encodeStatus(String(status))]
  if (date !== undefined) pieces.push(encodeField('date', date))
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at]!.toLowerCase()
    if (!HTTP1_ONLY_HEADERS.has(name)) pieces.push(encodeField(name, lines[at + 1]!))
  }
  return Buffer.concat(pieces)
}

/** Offset of the date's value in a block that has one. */
export function findDateOffset(status: number): number {
  return (
    encodeStatus(String(status)).length + encodeField('date', '-'.repeat(DATE_LENGTH)).length - DATE_LENGTH
  )
}

function encodeStatus(status: string): Buffer {
  const index = STATUSES.get(status)
  return index === undefined ? encodeField(':status', status) : encodeInteger(INDEXED, 7, index)
}

function encodeField(name: string, value: string): Buffer {
  const kind = name === 'set-cookie' ? NEVER_INDEXED : WITHOUT_INDEXING
  const index = INDEXES.get(name)
  const named =
    index === undefined ? [encodeInteger(kind, 4, 0), ...encodeString(name)] : [encodeInteger(kind, 4, index)]
  return Buffer.concat([...named, ...encodeString(value)])
}

function encodeString(value: string): [Buffer, Buffer] {
  const bytes = Buffer.from(value, 'latin1')
  return [encodeInteger(0, 7, bytes.length), bytes]
}

/** RFC 7541, 5.1. */
function encodeInteger(flags: number, bits: number, value: number): Buffer {
  const max = (1 << bits) - 1
  if (value < max) return Buffer.from([flags | value])
  const bytes = [flags | max]
  let rest = value - max
  for (; rest >= 0x80; rest >>= 7) bytes.push((rest & 0x7f) | 0x80)
  return Buffer.from([...bytes, rest])
}
