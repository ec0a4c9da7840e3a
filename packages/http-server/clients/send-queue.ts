import type { Duplex } from 'node:stream'
import type { ClientMemory, MemoryReservation } from './client-memory.ts'

/** Minimum average rate at which a client must read a response, over a minute. */
export const MIN_BYTES_PER_SECOND = 1024
const MEASURED_CHECKS = 60

/** Requests in progress that hold more than this are accounted for immediately; others by the check each second. */
const MIN_REQUEST_UPDATE_BYTES = 32 * 1024

/** Node's internal handle of a connection; a TLS socket's handle wraps that of the TCP connection. */
interface Handle {
  /** Bytes passed to the operating system, and the part that it has not accepted yet. */
  bytesWritten?: number
  writeQueueSize?: number
  _parent?: Handle
}

const queues = new WeakMap<Duplex, SendQueue>()

export function findSendQueue(socket: Duplex | null): SendQueue | undefined {
  return socket ? queues.get(socket) : undefined
}

/** Accounts for the unsent responses and pending requests of a connection, and measures what its client reads. */
export class SendQueue {
  readonly #socket: Duplex
  readonly #memory: ClientMemory
  readonly #address: string
  readonly #reservation: MemoryReservation
  readonly #isEncrypted: boolean
  /** Checks since the measurement began, and what had been sent then. */
  #checks = 0
  #sentBefore = 0
  #requestBytes = 0

  constructor(socket: Duplex, memory: ClientMemory, address: string) {
    this.#socket = socket
    this.#memory = memory
    this.#address = address
    this.#isEncrypted = (socket as { encrypted?: boolean }).encrypted === true
    this.#reservation = memory.reserve(address, () => socket.destroy())
    queues.set(socket, this)
    socket.once('close', () => this.#reservation[Symbol.dispose]())
  }

  reserve(): MemoryReservation {
    return this.#memory.reserve(this.#address)
  }

  /** Accounts for a request in progress; a negative number releases it. */
  addRequest(bytes: number): void {
    this.#requestBytes += bytes
    if (bytes > 0 && this.#requestBytes > MIN_REQUEST_UPDATE_BYTES) this.update()
  }

  /** Accounts for the unsent bytes. Disconnects the client when its share is exhausted by newer reservations. */
  update(): void {
    if (this.#socket.destroyed) return
    if (!this.#reservation.require(this.#queuedBytes + this.#requestBytes)) this.#socket.destroy()
  }

  /** Called each second. Returns false when the client was below the minimum rate for a minute. */
  check(): boolean {
    this.update()
    if (this.#socket.writableLength === 0) {
      this.#checks = 0
      return true
    }
    if (this.#checks === 0) this.#sentBefore = this.#sentBytes
    if (++this.#checks <= MEASURED_CHECKS) return true
    this.#checks = 0
    return !(this.#sentBytes - this.#sentBefore < MEASURED_CHECKS * MIN_BYTES_PER_SECOND)
  }

  /** OpenSSL keeps a copy of what it has encrypted until the operating system takes it. */
  get #queuedBytes(): number {
    const { writableLength } = this.#socket
    return this.#isEncrypted ? 2 * writableLength : writableLength
  }

  /** Bytes that the operating system has accepted; NaN when that is unknown. */
  get #sentBytes(): number {
    const { _handle: handle } = this.#socket as { _handle?: Handle | null }
    const { bytesWritten = Number.NaN, writeQueueSize = 0 } = handle?._parent ?? handle ?? {}
    return bytesWritten - writeQueueSize
  }
}
