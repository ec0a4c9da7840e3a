import type { Duplex } from 'node:stream'
import type { ClientMemory, MemoryReservation } from './client-memory.ts'

/** The least that a client has to take of a response, on average over a minute. */
export const MIN_BYTES_PER_SECOND = 1024
const MEASURED_CHECKS = 60

/** Requests in progress that hold more than this are accounted for at once; less is at the next check, within a second. */
const MIN_REQUEST_UPDATE_BYTES = 32 * 1024

/** What Node keeps of a connection below its stream; a TLS socket's handle has that of the connection below it. */
interface Handle {
  /** Bytes that were given to the operating system, and how many of them it has not taken yet. */
  bytesWritten?: number
  writeQueueSize?: number
  _parent?: Handle
}

const queues = new WeakMap<Duplex, SendQueue>()

/** The queue of a client's connection; undefined for one that is not accounted for. */
export function findSendQueue(socket: Duplex | null): SendQueue | undefined {
  return socket ? queues.get(socket) : undefined
}

/**
 * What waits on one connection until its client reads, and the requests that wait for their responses: accounted for as memory
 * of that client. What is sent is measured, so that a client that hardly reads loses its connection.
 */
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

  /** `address` is whose share the memory counts against. */
  constructor(socket: Duplex, memory: ClientMemory, address: string) {
    this.#socket = socket
    this.#memory = memory
    this.#address = address
    this.#isEncrypted = (socket as { encrypted?: boolean }).encrypted === true
    this.#reservation = memory.reserve(address, () => socket.destroy())
    queues.set(socket, this)
    socket.once('close', () => this.#reservation[Symbol.dispose]())
  }

  /** A reservation for what is read ahead for this client. */
  reserve(): MemoryReservation {
    return this.#memory.reserve(this.#address)
  }

  /** Accounts for a request in progress; a negative number releases it. */
  addRequest(bytes: number): void {
    this.#requestBytes += bytes
    if (bytes > 0 && this.#requestBytes > MIN_REQUEST_UPDATE_BYTES) this.update()
  }

  /** Accounts for what waits now. A client whose share is used up by others that wait no longer than it loses its connection. */
  update(): void {
    if (this.#socket.destroyed) return
    if (!this.#reservation.require(this.#queuedBytes + this.#requestBytes)) this.#socket.destroy()
  }

  /** Accounts for what waits, once a second. Returns false when the client has taken too little of it for a minute. */
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

  /** Bytes that the operating system has taken; not a number when that cannot be known. */
  get #sentBytes(): number {
    const { _handle: handle } = this.#socket as { _handle?: Handle | null }
    const { bytesWritten = Number.NaN, writeQueueSize = 0 } = handle?._parent ?? handle ?? {}
    return bytesWritten - writeQueueSize
  }
}
