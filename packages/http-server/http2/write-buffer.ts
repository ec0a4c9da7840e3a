import type { Socket } from 'node:net'
import type { MemoryReservation } from '../clients/client-memory.ts'

const BUFFER_BYTES = 256 * 1024

/** Collects the output of one turn; empty between turns. */
let sharedBuffer: Buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)

/** A pool of sent buffers: constant allocation is work for the garbage collector. */
const bufferPool: Buffer[] = []
const MAX_POOLED_BUFFERS = 16

/** Smaller output is copied: a client that does not read must not hold much more memory than its bytes. */
const MIN_ZERO_COPY_BYTES = 64 * 1024

/** Bytes queued for a client before reading is paused. */
const MAX_BUFFERED_BYTES = 2 ** 20

let bufferOwner: WriteBuffer | undefined

const FLUSH_THRESHOLD_BYTES = 192 * 1024

/** Nothing is awaited between `begin` and `end`, so that all connections share the buffer. */
export class WriteBuffer {
  readonly #socket: Socket
  #depth = 0
  #length = 0
  #isClosing = false
  /** Memory of bytes that wait for a slow reader. */
  readonly #memory: MemoryReservation
  #isOverShare = false
  /** Bytes written to the socket, and unused bytes of the buffers that hold them. */
  #flushedBytes = 0
  #unusedBytes = 0

  constructor(socket: Socket, memory: MemoryReservation) {
    this.#socket = socket
    this.#memory = memory
  }

  get bufferedBytes(): number {
    return this.#length + this.#socket.writableLength
  }

  /** Whether the client must read before more is processed. */
  get isFull(): boolean {
    return !this.canBuffer(MAX_BUFFERED_BYTES)
  }

  /** Whether at most `bytes` are queued and the client's memory share is not exhausted. */
  canBuffer(bytes: number): boolean {
    return !this.#isOverShare && this.bufferedBytes <= bytes
  }

  /** Bytes that the socket has passed on to the system. */
  get deliveredBytes(): number {
    return this.#flushedBytes - this.#socket.writableLength
  }

  /** Accounts for bytes queued in the socket, when they exceed its high-water mark and it will emit `drain`. */
  account(): void {
    const { writableNeedDrain, writableLength } = this.#socket
    if (writableNeedDrain) this.#isOverShare = !this.#memory.resize(writableLength + this.#unusedBytes)
    else this.release()
  }

  /** Nothing more is sent, or everything was read. */
  release(): void {
    this.#isOverShare = false
    this.#memory.resize(0)
  }

  begin(): void {
    this.#depth++
  }

  end(): void {
    if (--this.#depth > 0) return
    this.#flush()
    if (this.#isClosing) this.#socket.end()
  }

  /** Closes the connection after the queued output. */
  close(): void {
    this.#isClosing = true
    this.begin()
    this.end()
  }

  /** Reserves bytes and returns their offset in `buffer`, to be filled immediately. */
  reserve(bytes: number): number {
    if (bufferOwner !== undefined && bufferOwner !== this) bufferOwner.#flush()
    if (this.#length + bytes > FLUSH_THRESHOLD_BYTES) this.#flush()
    bufferOwner = this
    if (bytes > sharedBuffer.length) sharedBuffer = Buffer.allocUnsafeSlow(bytes)
    const at = this.#length
    this.#length += bytes
    return at
  }

  get target(): Buffer {
    return sharedBuffer
  }

  add(bytes: Buffer): void {
    this.begin()
    const at = this.reserve(bytes.length)
    bytes.copy(sharedBuffer, at)
    this.end()
  }

  #flush(): void {
    const length = this.#length
    if (length === 0) return
    this.#length = 0
    bufferOwner = undefined
    if (this.#socket.destroyed || this.#socket.writableEnded) return
    this.#flushedBytes += length
    if (length < MIN_ZERO_COPY_BYTES) this.#socket.write(Buffer.from(sharedBuffer.subarray(0, length)))
    else {
      const full = sharedBuffer
      const unused = full.length - length
      this.#unusedBytes += unused
      sharedBuffer = bufferPool.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES)
      this.#socket.write(full.subarray(0, length), (error) => {
        this.#unusedBytes -= unused
        if (!error && full.length === BUFFER_BYTES && bufferPool.length < MAX_POOLED_BUFFERS)
          bufferPool.push(full)
      })
    }
    this.account()
  }
}
