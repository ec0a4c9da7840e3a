const EMPTY = Buffer.alloc(0)

const MIN_CAPACITY_BYTES = 1024

/** Collects chunks in one buffer: in a list, each takes hundreds of bytes more. A single chunk is not copied. */
export class GrowingBuffer {
  #bytes: Buffer = EMPTY
  #length = 0

  get length(): number {
    return this.#length
  }

  /** Bytes that are allocated after `more` bytes are appended: at most twice the length, or 1 KiB. */
  capacityFor(more: number): number {
    const needed = this.#length + more
    if (this.#length === 0 || needed <= this.#bytes.length) return Math.max(needed, this.#bytes.length)
    return Math.max(needed, 2 * this.#length, MIN_CAPACITY_BYTES)
  }

  append(chunk: Buffer): void {
    if (this.#length > 0) return void this.appendCopy(chunk)
    this.#bytes = chunk
    this.#length = chunk.length
  }

  /** Appends bytes that are valid until this call returns only. */
  appendCopy(chunk: Buffer): void {
    const capacity = this.capacityFor(chunk.length)
    if (capacity > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(capacity)
      this.#bytes.copy(grown, 0, 0, this.#length)
      this.#bytes = grown
    }
    this.#bytes.set(chunk, this.#length)
    this.#length += chunk.length
  }

  /** Returns the collected bytes without a copy, and empties the buffer. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#length)
    this.#bytes = EMPTY
    this.#length = 0
    return taken
  }
}
