import { huffmanDecode } from './huffman.ts'
import { HeaderField, STATIC_TABLE } from './static-table.ts'

/** Size of the dynamic table in bytes: the default, which is never changed here. */
const DYNAMIC_TABLE_BYTES = 4096

/** Counted as in the table; announced as SETTINGS_MAX_HEADER_LIST_SIZE. */
export const MAX_HEADER_LIST_BYTES = 16 * 1024

const MAX_SIZE_UPDATES = 2

/** Slots of the ring: a field takes at least 32 bytes of the table (RFC 7541, 4.1). A power of two. */
const SLOTS = DYNAMIC_TABLE_BYTES / 32

export interface FieldList {
  fields: HeaderField[]
  tooLong: boolean
}

/** Decodes the header blocks of one connection in order (RFC 7541), in bounded memory. */
export class HpackDecoder {
  /** The dynamic table, a ring: `#count` fields, the oldest at `#oldest`. */
  readonly #table: (HeaderField | undefined)[] = Array.from({ length: SLOTS })
  #oldest = 0
  #count = 0
  #tableBytes = 0
  #limit = DYNAMIC_TABLE_BYTES
  #block: Buffer = Buffer.alloc(0)
  #at = 0
  #end = 0
  /** Changes whenever the same bytes may decode differently. */
  version = 0

  /** Decodes the bytes up to `end`; undefined when they are invalid: later blocks cannot be decoded then. */
  decode(block: Buffer, start: number, end: number): FieldList | undefined {
    this.#block = block
    this.#at = start
    this.#end = end
    const fields: HeaderField[] = []
    let bytes = 0
    if (!this.#resize()) return undefined
    while (this.#at < end) {
      const found = this.#field()
      if (found === undefined) return undefined
      bytes += found.size
      if (bytes <= MAX_HEADER_LIST_BYTES) fields.push(found)
    }
    return { fields, tooLong: bytes > MAX_HEADER_LIST_BYTES }
  }

  /** Dynamic table size updates come first: at most the smallest and the final one (RFC 7541, 4.2). */
  #resize(): boolean {
    for (let count = 0; this.#at < this.#end; count++) {
      if ((this.#block[this.#at]! & 0xe0) !== 0x20) return true
      const size = this.#number(5)
      if (size === undefined || size > DYNAMIC_TABLE_BYTES || count === MAX_SIZE_UPDATES) return false
      this.version++
      this.#limit = size
      this.#evictTo(size)
    }
    return true
  }

  #field(): HeaderField | undefined {
    const byte = this.#block[this.#at]!
    if (byte >= 0x80) return this.#lookup(this.#number(7))
    const isKept = byte >= 0x40
    if (!isKept && byte >= 0x20) return undefined
    const index = this.#number(isKept ? 6 : 4)
    if (index === undefined) return undefined
    const name = index === 0 ? this.#text() : this.#lookup(index)?.name
    const value = name === undefined ? undefined : this.#text()
    if (name === undefined || value === undefined) return undefined
    const found = new HeaderField(name, value)
    if (isKept) this.#insert(found)
    return found
  }

  #lookup(index: number | undefined): HeaderField | undefined {
    if (index === undefined) return undefined
    if (index <= STATIC_TABLE.length) return STATIC_TABLE[index - 1]
    const age = index - STATIC_TABLE.length
    return age > this.#count ? undefined : this.#table[(this.#oldest + this.#count - age) % SLOTS]
  }

  /** An entry larger than the table empties it (RFC 7541, 4.4). */
  #insert(found: HeaderField): void {
    this.version++
    this.#evictTo(Math.max(0, this.#limit - found.size))
    if (found.size > this.#limit) return
    this.#table[(this.#oldest + this.#count++) % SLOTS] = found
    this.#tableBytes += found.size
  }

  #evictTo(bytes: number): void {
    while (this.#tableBytes > bytes) {
      this.#tableBytes -= this.#table[this.#oldest]!.size
      this.#table[this.#oldest] = undefined
      this.#oldest = (this.#oldest + 1) % SLOTS
      this.#count--
    }
  }

  /** RFC 7541, 5.2. */
  #text(): string | undefined {
    if (this.#at >= this.#end) return undefined
    const isCoded = this.#block[this.#at]! >= 0x80
    const length = this.#number(7)
    const from = this.#at
    if (length === undefined || length > this.#end - from) return undefined
    this.#at += length
    return isCoded
      ? huffmanDecode(this.#block, from, this.#at)
      : this.#block.toString('latin1', from, this.#at)
  }

  /** RFC 7541, 5.1. No valid number here needs more than three bytes after the first. */
  #number(bits: number): number | undefined {
    const max = (1 << bits) - 1
    let value = this.#block[this.#at++]! & max
    if (value < max) return value
    for (let shift = 0; shift <= 14; shift += 7) {
      if (this.#at >= this.#end) return undefined
      const byte = this.#block[this.#at++]!
      value += (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    return undefined
  }
}
