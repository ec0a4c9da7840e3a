import { huffmanDecoded } from './huffman.ts'
import { type Field, field, STATIC_TABLE } from './static-table.ts'

/** Bytes of fields that this end remembers of what the other end said: the default, which is never changed here. */
const TABLE_BYTES = 4096

/** Bytes of one list of fields, counted as in the table; what is announced as SETTINGS_MAX_HEADER_LIST_SIZE. */
export const MOST_LIST_BYTES = 16 * 1024

const MOST_SIZES = 2

/** A list of fields in their order, as far as it is not longer than allowed. */
export interface FieldList {
  fields: Field[]
  /** Whether there was more than is allowed. */
  tooLong: boolean
}

/**
 * Reads the header blocks of one connection, in the order in which they come (RFC 7541). What it takes in memory is
 * bounded whatever comes.
 */
export class FieldDecoder {
  /** The oldest first. */
  readonly #table: Field[] = []
  #held = 0
  #limit = TABLE_BYTES
  #block: Buffer = Buffer.alloc(0)
  #at = 0
  #end = 0
  /** Changes whenever the same bytes may mean something else than before. */
  version = 0

  /** What the bytes up to `end` say; undefined when they say nothing that can be read: then no further block can be read either. */
  decode(block: Buffer, start: number, end: number): FieldList | undefined {
    this.#block = block
    this.#at = start
    this.#end = end
    const fields: Field[] = []
    let bytes = 0
    if (!this.#resize()) return undefined
    while (this.#at < end) {
      const found = this.#field()
      if (found === undefined) return undefined
      bytes += found.size
      if (bytes <= MOST_LIST_BYTES) fields.push(found)
    }
    return { fields, tooLong: bytes > MOST_LIST_BYTES }
  }

  /** Changes of the table's size stand at the beginning: at most the smallest in between and the last (RFC 7541, 4.2). */
  #resize(): boolean {
    for (let count = 0; this.#at < this.#end; count++) {
      if ((this.#block[this.#at]! & 0xe0) !== 0x20) return true
      const size = this.#number(5)
      if (size === undefined || size > TABLE_BYTES || count === MOST_SIZES) return false
      this.version++
      this.#limit = size
      this.#shrink(size)
    }
    return true
  }

  #field(): Field | undefined {
    const byte = this.#block[this.#at]!
    if (byte >= 0x80) return this.#known(this.#number(7))
    const isKept = byte >= 0x40
    if (!isKept && byte >= 0x20) return undefined
    const index = this.#number(isKept ? 6 : 4)
    if (index === undefined) return undefined
    const name = index === 0 ? this.#text() : this.#known(index)?.name
    const value = name === undefined ? undefined : this.#text()
    if (name === undefined || value === undefined) return undefined
    const found = field(name, value)
    if (isKept) this.#keep(found)
    return found
  }

  #known(index: number | undefined): Field | undefined {
    if (index === undefined) return undefined
    if (index <= STATIC_TABLE.length) return STATIC_TABLE[index - 1]
    return this.#table[this.#table.length - (index - STATIC_TABLE.length)]
  }

  /** One that is larger than the whole table empties it (RFC 7541, 4.4). */
  #keep(found: Field): void {
    this.version++
    this.#shrink(Math.max(0, this.#limit - found.size))
    if (found.size > this.#limit) return
    this.#table.push(found)
    this.#held += found.size
  }

  #shrink(bytes: number): void {
    let gone = 0
    while (this.#held > bytes) this.#held -= this.#table[gone++]!.size
    if (gone > 0) this.#table.splice(0, gone)
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
      ? huffmanDecoded(this.#block, from, this.#at)
      : this.#block.toString('latin1', from, this.#at)
  }

  /** RFC 7541, 5.1. No number that means anything here needs more than three bytes after the first. */
  #number(bits: number): number | undefined {
    const most = (1 << bits) - 1
    let value = this.#block[this.#at++]! & most
    if (value < most) return value
    for (let shift = 0; shift <= 14; shift += 7) {
      if (this.#at >= this.#end) return undefined
      const byte = this.#block[this.#at++]!
      value += (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    return undefined
  }
}
