import type { Socket } from 'node:net'

/** Bytes of a room. */
const ROOM = 256 * 1024

/** Where what one turn sends is gathered; empty between turns. */
let room: Buffer = Buffer.allocUnsafeSlow(ROOM)

/** Rooms whose bytes were sent: making new ones all the time is work for the garbage collector. */
const rooms: Buffer[] = []
const MOST_ROOMS = 16

/** So many bytes go out in the room itself, fewer in a copy: a client that does not read them must not hold much more. */
const WORTH_A_ROOM = 64 * 1024

/** Bytes that may wait for a client before nothing more is read of it. */
const MOST_WAITING = 2 ** 20

/** Whose bytes are in the room. */
let owner: Outbox | undefined

/** More than this is sent at once, before the turn is over. */
const BATCH = 192 * 1024

/**
 * What a connection sends: gathered while a read is worked on, and written at once at its end. Between `begin` and
 * `end` nothing is awaited, so that all connections share the room in which it is gathered.
 */
export class Outbox {
  readonly #socket: Socket
  #depth = 0
  #length = 0
  #isClosing = false

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** Bytes that the client was not yet sent. */
  get waiting(): number {
    return this.#length + this.#socket.writableLength
  }

  /** Whether the client has to read before more is done for it. */
  get isFull(): boolean {
    return this.waiting > MOST_WAITING
  }

  begin(): void {
    this.#depth++
  }

  end(): void {
    if (--this.#depth > 0) return
    this.#flush()
    if (this.#isClosing) this.#socket.end()
  }

  /** Ends the connection after what was added. */
  close(): void {
    this.#isClosing = true
    this.begin()
    this.end()
  }

  /** Makes room for so many bytes and answers where: in `buffer`, to be filled before anything else happens here. */
  reserve(bytes: number): number {
    if (owner !== undefined && owner !== this) owner.#flush()
    if (this.#length + bytes > BATCH) this.#flush()
    owner = this
    if (bytes > room.length) room = Buffer.allocUnsafeSlow(bytes)
    const at = this.#length
    this.#length += bytes
    return at
  }

  get buffer(): Buffer {
    return room
  }

  /** Sends these bytes. */
  add(bytes: Buffer): void {
    this.begin()
    const at = this.reserve(bytes.length)
    bytes.copy(room, at)
    this.end()
  }

  #flush(): void {
    const length = this.#length
    if (length === 0) return
    this.#length = 0
    owner = undefined
    if (this.#socket.destroyed || this.#socket.writableEnded) return
    if (length < WORTH_A_ROOM) return void this.#socket.write(Buffer.from(room.subarray(0, length)))
    const full = room
    room = rooms.pop() ?? Buffer.allocUnsafeSlow(ROOM)
    this.#socket.write(full.subarray(0, length), (error) => {
      if (!error && full.length === ROOM && rooms.length < MOST_ROOMS) rooms.push(full)
    })
  }
}
