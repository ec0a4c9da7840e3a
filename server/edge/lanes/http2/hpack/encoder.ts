import { STATIC_TABLE } from './static-table.ts'

/** How many bytes `Date` has (RFC 9110, 5.6.7). */
const DATE_LENGTH = 29

/** Lines that are the business of an HTTP/1.1 connection (RFC 9113, 8.2.2). */
const OF_THE_CONNECTION = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** The first index of each name. */
const INDEXES = new Map<string, number>()
/** The index of each status that has one. */
const STATUSES = new Map<string, number>()
for (const [at, { name, value }] of STATIC_TABLE.entries()) {
  if (!INDEXES.has(name)) INDEXES.set(name, at + 1)
  if (name === ':status') STATUSES.set(value, at + 1)
}

const KNOWN = 0x80
const WITHOUT_INDEXING = 0x00
/** What nobody on the way may keep (RFC 7541, 7.1.3). */
const NEVER_INDEXED = 0x10

/** A change of the other end's table to nothing: what is said here never needs it (RFC 7541, 6.3). */
export const NO_TABLE = 0x20

/**
 * The header block of an answer: a status, the date when there is one, and lines, name before value, without those of
 * the connection. It neither uses nor changes a table, so that it says the same on every connection. Text is latin1.
 */
export function encodeAnswer(status: number, date: string | undefined, lines: readonly string[]): Buffer {
  const pieces: Buffer[] = [statusOf(String(status))]
  if (date !== undefined) pieces.push(line('date', date))
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at]!.toLowerCase()
    if (!OF_THE_CONNECTION.has(name)) pieces.push(line(name, lines[at + 1]!))
  }
  return Buffer.concat(pieces)
}

/** Where the value of the date begins in such a block that has one. */
export function dateIn(status: number): number {
  return statusOf(String(status)).length + line('date', '-'.repeat(DATE_LENGTH)).length - DATE_LENGTH
}

function statusOf(status: string): Buffer {
  const index = STATUSES.get(status)
  return index === undefined ? line(':status', status) : number(KNOWN, 7, index)
}

function line(name: string, value: string): Buffer {
  const kind = name === 'set-cookie' ? NEVER_INDEXED : WITHOUT_INDEXING
  const index = INDEXES.get(name)
  const named = index === undefined ? [number(kind, 4, 0), ...text(name)] : [number(kind, 4, index)]
  return Buffer.concat([...named, ...text(value)])
}

function text(value: string): [Buffer, Buffer] {
  const bytes = Buffer.from(value, 'latin1')
  return [number(0, 7, bytes.length), bytes]
}

/** RFC 7541, 5.1. */
function number(flags: number, bits: number, value: number): Buffer {
  const most = (1 << bits) - 1
  if (value < most) return Buffer.from([flags | value])
  const bytes = [flags | most]
  let rest = value - most
  for (; rest >= 0x80; rest >>= 7) bytes.push((rest & 0x7f) | 0x80)
  return Buffer.from([...bytes, rest])
}
