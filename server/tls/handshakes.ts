import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { network } from '../limits/limits.ts'
import type { Log } from '../log.ts'
import { type ClientHello, readClientHello } from './client-hello.ts'
import type { Choice } from './contexts.ts'

/**
 * Gives what a socket receives to `take`, whose bytes are valid until it returns; answers a function that makes the socket a
 * usual one again.
 */
export type Read = (socket: Socket, take: (buffer: Buffer, length: number) => void) => () => void

export interface HandshakesOptions {
  /** Undefined refuses the name. */
  choose: (hello: ClientHello) => Choice | undefined | Promise<Choice | undefined>
  /** Takes a connection once it is encrypted; nothing was read from it yet. */
  secured: (socket: TLSSocket) => void
  read: Read
  log: Log
}

/** Handshakes at once; and of one address, or one /64 of IPv6. */
const MOST = 1000
const MOST_OF_ONE = 250

/** An address that has so many times as much as another one gives way to it when all is taken. */
const MUCH_MORE = 4

/** Milliseconds that a handshake may take, and between two looks for those that take longer. */
const PATIENCE = 10_000
const LOOK = 1000

/** Alerts (RFC 8446, 6): of level 2, fatal. */
const UNRECOGNIZED_NAME = 112
const INTERNAL_ERROR = 80

const NOT_HTTPS =
  'HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 37\r\nConnection: close\r\n\r\nThis port speaks HTTPS: use https://\n'

/**
 * Brings connections from their first byte to where they are encrypted. The hello is read before OpenSSL sees the
 * connection, so that a name that is unknown costs two small messages, and the CA's look is told from a visit.
 */
export class Handshakes {
  readonly #options: HandshakesOptions
  /** What is under way, the oldest first: from where, and the look at which it began. */
  readonly #underWay = new Map<Socket, { address: string; began: number }>()
  readonly #ofAddress = new Map<string, number>()
  readonly #timer: NodeJS.Timeout
  #looks = 0
  /** Connections that were refused, by why. */
  readonly refused = { busy: 0, unknown: 0, broken: 0, slow: 0 }

  constructor(options: HandshakesOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#look(), LOOK).unref()
  }

  /** How many are under way. */
  get count(): number {
    return this.#underWay.size
  }

  /** Takes a connection whose errors are heard already. */
  accept(raw: Socket): void {
    if (raw.destroyed) return
    const address = network(raw.remoteAddress ?? '')
    const ofAddress = this.#ofAddress.get(address) ?? 0
    if (ofAddress >= MOST_OF_ONE || !this.#hasRoom(ofAddress)) {
      this.refused.busy++
      return void raw.destroy()
    }
    this.#underWay.set(raw, { address, began: this.#looks })
    this.#ofAddress.set(address, ofAddress + 1)
    raw.once('close', () => this.#done(raw))
    this.#listen(raw, () => this.#done(raw))
  }

  /** Ends what is under way. */
  cut(): void {
    clearInterval(this.#timer)
    for (const raw of this.#underWay.keys()) raw.destroy()
  }

  /** Whether there is a place for an address with so many, be it one that another address has to give. */
  #hasRoom(ofAddress: number): boolean {
    if (this.#underWay.size < MOST) return true
    const [fullest, most] = [...this.#ofAddress].reduce((one, other) => (other[1] > one[1] ? other : one))
    if (most < MUCH_MORE * (ofAddress + 1)) return false
    const [oldest] = this.#underWay.entries().find(([, { address }]) => address === fullest)!
    this.refused.busy++
    this.#done(oldest)
    oldest.destroy()
    return true
  }

  #done(raw: Socket): void {
    const { address } = this.#underWay.get(raw) ?? {}
    if (address === undefined) return
    this.#underWay.delete(raw)
    const left = this.#ofAddress.get(address)! - 1
    if (left > 0) this.#ofAddress.set(address, left)
    else this.#ofAddress.delete(address)
  }

  /** Gathers the hello. */
  #listen(raw: Socket, done: () => void): void {
    let bytes: Buffer | undefined
    const onEnd = () => raw.destroy()
    raw.on('end', onEnd)
    const take = (buffer: Buffer, length: number) => {
      const chunk = Buffer.from(buffer.subarray(0, length))
      bytes = bytes ? Buffer.concat([bytes, chunk]) : chunk
      const hello = readClientHello(bytes)
      if (hello === 'more') return
      stop()
      raw.off('end', onEnd)
      if (typeof hello === 'string') return this.#refuseOther(raw, bytes)
      raw.unshift(bytes)
      this.#choose(raw, hello, done)
    }
    // What came while nobody could take it.
    const early = raw.readableLength > 0 ? (raw.read() as Buffer) : undefined
    const stop = this.#options.read(raw, take)
    if (early) take(early, early.length)
  }

  #choose(raw: Socket, hello: ClientHello, done: () => void): void {
    const away = (error: unknown) => {
      this.#options.log.warn('a handshake failed', { name: hello.serverName, error })
      alert(raw, INTERNAL_ERROR)
    }
    try {
      const choice = this.#options.choose(hello)
      if (choice instanceof Promise) choice.then((chosen) => this.#encrypt(raw, chosen, done)).catch(away)
      else this.#encrypt(raw, choice, done)
    } catch (error) {
      away(error)
    }
  }

  #encrypt(raw: Socket, choice: Choice | undefined, done: () => void): void {
    if (raw.destroyed) return
    if (!choice) {
      this.refused.unknown++
      return void alert(raw, UNRECOGNIZED_NAME)
    }
    const { context, protocols } = choice
    const socket = new TLSSocket(raw, {
      isServer: true,
      secureContext: context,
      ALPNProtocols: protocols as string[],
    })
    let secured = false
    // A client that goes away is no fault of anybody's.
    socket.on('error', () => {
      if (!secured) this.refused.broken++
    })
    const onEnd = () => socket.destroy()
    socket.once('end', onEnd)
    socket.once('close', () => raw.destroy())
    socket.once('secure', () => {
      secured = true
      socket.off('end', onEnd)
      done()
      this.#options.secured(socket)
    })
  }

  #refuseOther(raw: Socket, bytes: Buffer): void {
    this.refused.broken++
    if (/^[A-Z]{3,8} [/*h]/.test(bytes.toString('latin1', 0, 12))) raw.write(NOT_HTTPS)
    raw.destroySoon()
  }

  #look(): void {
    this.#looks++
    for (const [raw, { began }] of this.#underWay) {
      if ((this.#looks - began) * LOOK <= PATIENCE) break
      this.refused.slow++
      raw.destroy()
    }
  }
}

function alert(raw: Socket, description: number): void {
  raw.write(Buffer.from([21, 3, 3, 0, 2, 2, description]))
  raw.destroySoon()
}
