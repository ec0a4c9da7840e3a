import { BLOCK_BYTES } from '../../../protocol/tar.ts'
import { type ArchiveLimits, archiveError } from './limits.ts'

export const SPARSE_FILE_MESSAGE = 'contains a sparse file; omit --sparse, or use bsdtar --format=gnutar'

const SPACE = 0x20
const EQUALS = 0x3d
const NEWLINE = 0x0a

/** POSIX.1-2024 pax, "ustar Interchange Format", and GNU's variants. */
export interface TarHeader {
  name: string
  /** Without padding. */
  size: number
  type: string
  linkName: string
}

/** Attributes that an extended header sets for the next file. */
export interface PaxExtension {
  path?: string
  linkName?: string
  size?: number
}

/** VALIDATION_ERROR when the block is invalid. */
export function readHeader(block: Buffer): TarHeader {
  if (parseNumber(block, 148, 8) !== checksum(block))
    throw corruptHeader('has a header with an incorrect checksum')
  const type = block[156] === 0 ? '0' : String.fromCharCode(block[156]!)
  const size = parseNumber(block, 124, 12)
  // GNU's magic has a space where POSIX has the NUL, and other fields instead of the prefix.
  const prefix = block.toString('latin1', 257, 263) === 'ustar\0' ? readText(block, 345, 155) : ''
  const name = readText(block, 0, 100)
  // Most headers are of files, whose link name has no meaning.
  const linkName = type === '1' || type === '2' ? readText(block, 157, 100) : ''
  return { name: prefix ? `${prefix}/${name}` : name, size, type, linkName }
}

/** Each record of a pax extended header is `<length> <key>=<value>` and a line break. */
export function readExtension(records: Buffer, budget: Pick<ArchiveLimits, 'countOverhead'>): PaxExtension {
  const extension: PaxExtension = {}
  for (let at = 0; at < records.length; ) {
    budget.countOverhead(0)
    const { key, value, end } = readRecord(records, at)
    if (key === 'path') extension.path = value.toString()
    else if (key === 'linkpath') extension.linkName = value.toString()
    else if (key === 'size') extension.size = parseSize(value.toString('latin1'))
    else if (key.startsWith('GNU.sparse.')) throw archiveError(SPARSE_FILE_MESSAGE)
    at = end
  }
  return extension
}

export function readLongName(body: Buffer): string {
  return readText(body, 0, body.length)
}

function readRecord(records: Buffer, at: number): { key: string; value: Buffer; end: number } {
  const space = records.indexOf(SPACE, at)
  const end = at + parseSize(records.toString('latin1', at, Math.min(space, at + 20)))
  const equals = records.indexOf(EQUALS, space)
  const whole = space > at && equals > space && equals < end && records[end - 1] === NEWLINE
  if (!whole) throw corruptHeader('has an invalid extended header')
  return {
    key: records.toString('latin1', space + 1, equals),
    value: records.subarray(equals + 1, end - 1),
    end,
  }
}

function parseSize(digits: string): number {
  const size = /^\d+$/.test(digits) ? Number(digits) : Number.NaN
  if (!Number.isSafeInteger(size)) throw corruptHeader('has an invalid extended header')
  return size
}

/** Octal text, or GNU's big-endian binary when the first bit is set. */
function parseNumber(block: Buffer, start: number, length: number): number {
  const field = block.subarray(start, start + length)
  const value = field[0]! & 0x80 ? parseBinary(field) : parseOctal(field)
  if (!Number.isSafeInteger(value)) throw corruptHeader('has an invalid number in a header')
  return value
}

function parseOctal(field: Buffer): number {
  const digits = field.toString('latin1').replace(/^[ \0]+|[ \0].*$/gs, '')
  if (digits === '') return 0
  return /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : Number.NaN
}

function parseBinary(field: Buffer): number {
  if (field[0] !== 0x80) return Number.NaN
  return field.subarray(1).reduce((value, byte) => value * 256 + byte, 0)
}

/** With the checksum itself as spaces. */
function checksum(block: Buffer): number {
  let sum = 8 * SPACE
  for (let at = 0; at < 148; at++) sum += block[at]!
  for (let at = 156; at < BLOCK_BYTES; at++) sum += block[at]!
  return sum
}

function readText(bytes: Buffer, start: number, length: number): string {
  const field = bytes.subarray(start, start + length)
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end < 0 ? field.length : end)
}

function corruptHeader(message: string): Error {
  return archiveError(`${message}; it may be damaged, or not a tar archive`)
}
