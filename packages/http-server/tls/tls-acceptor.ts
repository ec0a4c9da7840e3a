import type { Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'
import { formatRefusal } from '../client-error.ts'
import { rateLimitSubnet } from '../clients/client-ip.ts'
import { Tally } from '../clients/tally.ts'
import type { Log } from '../log.ts'
import { inheritClient } from '../proxy-protocol.ts'
import { isOverload } from '../semaphore.ts'
import { takeBuffered } from '../shared-buffer-read.ts'
import { type ClientHello, type HelloError, readClientHello } from './client-hello.ts'
import { type Covers, setCoverage } from './covered-hosts.ts'

/** The bytes are valid until `take` returns. Returns a function that restores normal reading of the socket. */
export type ReadSocket = (socket: Socket, take: (buffer: Buffer, length: number) => void) => () => void

export interface SelectedCertificate {
  context: SecureContext
  protocols: readonly string[]
  /** The hosts that may be requested over the connection; undefined for all. */
  covers?: Covers
}

export interface TlsAcceptorOptions {
  /** Undefined rejects the name. */
  select: (
    hello: ClientHello,
    address: string,
  ) => SelectedCertificate | undefined | Promise<SelectedCertificate | undefined>
  /** Receives a connection after its handshake; nothing has been read from it yet. */
  onSecure: (socket: TLSSocket) => void
  read: ReadSocket
  log: Log
}

/** Maximum number of concurrent handshakes, in total and for one IPv4 address or IPv6 /64. */
const MAX_HANDSHAKES = 1000
const MAX_HANDSHAKES_PER_ADDRESS = 250

/**
 * When all places are taken, an address with this many times the handshakes of another one loses one; else the oldest
 * of all ends that has taken at least a second, since clients of many networks may take the places.
 */
const FAIRNESS_RATIO = 4
const SLOW_TICKS = 2

const HANDSHAKE_TIMEOUT_MS = 10_000
const TICK_INTERVAL_MS = 1000

/** Alerts (RFC 8446, 6.2). */
const ALERTS = {
  unexpected_message: 10,
  illegal_parameter: 47,
  decode_error: 50,
  internal_error: 80,
  unrecognized_name: 112,
} as const

/** Parses the ClientHello before OpenSSL sees the connection (docs/decisions/008-handshakes.md). */
export class TlsAcceptor {
  readonly #options: TlsAcceptorOptions
  /** Handshakes in progress, the oldest first, with their address and the tick at which they began. */
  readonly #inFlight = new Map<Socket, { address: string; began: number }>()
  readonly #countByAddress = new Tally()
  readonly #timer: NodeJS.Timeout
  #ticks = 0
  readonly refused = { busy: 0, unknown: 0, broken: 0, slow: 0 }

  constructor(options: TlsAcceptorOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#tick(), TICK_INTERVAL_MS).unref()
  }

  get count(): number {
    return this.#inFlight.size
  }

  /** Accepts a connection; its error events must be handled by the caller. */
  accept(raw: Socket): void {
    if (raw.destroyed) return
    const address = rateLimitSubnet(raw.remoteAddress ?? '')
    const ofAddress = this.#countByAddress.of(address)
    if (ofAddress >= MAX_HANDSHAKES_PER_ADDRESS || !this.#admit(ofAddress)) {
      this.refused.busy++
      return void raw.destroy()
    }
    this.#inFlight.set(raw, { address, began: this.#ticks })
    this.#countByAddress.add(address, 1)
    raw.once('close', () => this.#done(raw))
    this.#readHello(raw, () => this.#done(raw))
  }

  destroy(): void {
    clearInterval(this.#timer)
    for (const raw of this.#inFlight.keys()) raw.destroy()
  }

  /** Whether an address with this many handshakes may start one, perhaps in the place of another one. */
  #admit(ofAddress: number): boolean {
    if (this.#inFlight.size < MAX_HANDSHAKES) return true
    const [fullest, fullestCount] = [...this.#countByAddress].reduce((one, other) =>
      other[1] > one[1] ? other : one,
    )
    const isFuller = fullestCount >= FAIRNESS_RATIO * (ofAddress + 1)
    const [oldest, { began }] = this.#inFlight
      .entries()
      .find(([, { address }]) => !isFuller || address === fullest)!
    if (!isFuller && this.#ticks - began < SLOW_TICKS) return false
    this.refused.busy++
    this.#done(oldest)
    oldest.destroy()
    return true
  }

  #done(raw: Socket): void {
    const { address } = this.#inFlight.get(raw) ?? {}
    if (address === undefined) return
    this.#inFlight.delete(raw)
    this.#countByAddress.add(address, -1)
  }

  #readHello(raw: Socket, done: () => void): void {
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
      if (typeof hello === 'string') return this.#refuseHello(raw, bytes, hello)
      raw.unshift(bytes)
      this.#selectCertificate(raw, hello, done)
    }
    const early = takeBuffered(raw)
    const stop = this.#options.read(raw, take)
    if (early) take(early, early.length)
  }

  #selectCertificate(raw: Socket, hello: ClientHello, done: () => void): void {
    const fail = (error: unknown) => {
      if (!isOverload(error))
        this.#options.log.warn('TLS handshake failed', { name: hello.serverName, error })
      sendAlert(raw, 'internal_error')
    }
    try {
      const selected = this.#options.select(hello, raw.remoteAddress ?? '')
      if (selected instanceof Promise)
        selected.then((certificate) => this.#encrypt(raw, certificate, done)).catch(fail)
      else this.#encrypt(raw, selected, done)
    } catch (error) {
      fail(error)
    }
  }

  #encrypt(raw: Socket, selected: SelectedCertificate | undefined, done: () => void): void {
    if (raw.destroyed) return
    if (!selected) {
      this.refused.unknown++
      return void sendAlert(raw, 'unrecognized_name')
    }
    const { context, protocols, covers } = selected
    const socket = new TLSSocket(raw, {
      isServer: true,
      secureContext: context,
      ALPNProtocols: protocols as string[],
    })
    inheritClient(socket, raw)
    if (covers) setCoverage(socket, covers)
    let isEncrypted = false
    // A client that disconnects is not an error.
    socket.on('error', () => {
      if (!isEncrypted) this.refused.broken++
    })
    const onEnd = () => socket.destroy()
    socket.once('end', onEnd)
    socket.once('close', () => raw.destroy())
    socket.once('secure', () => {
      isEncrypted = true
      socket.off('end', onEnd)
      done()
      this.#options.onSecure(socket)
    })
  }

  #refuseHello(raw: Socket, bytes: Buffer, error: HelloError): void {
    this.refused.broken++
    if (error !== 'not TLS') {
      // Closing with bytes unread would reset the connection, and the client would lose the alert.
      raw.once('end', () => raw.destroy()).resume()
      return void raw.end(alertRecord(error))
    }
    if (/^[A-Z]{3,8} [/*h]/.test(bytes.toString('latin1', 0, 12)))
      raw.write(
        formatRefusal(
          400,
          ['Content-Type: text/plain; charset=utf-8'],
          'This port speaks HTTPS: use https://\n',
        ),
      )
    raw.destroySoon()
  }

  #tick(): void {
    this.#ticks++
    for (const [raw, { began }] of this.#inFlight) {
      if ((this.#ticks - began) * TICK_INTERVAL_MS <= HANDSHAKE_TIMEOUT_MS) break
      this.refused.slow++
      raw.destroy()
    }
  }
}

function sendAlert(raw: Socket, alert: keyof typeof ALERTS): void {
  raw.write(alertRecord(alert))
  raw.destroySoon()
}

function alertRecord(alert: keyof typeof ALERTS): Buffer {
  return Buffer.from([21, 3, 3, 0, 2, 2, ALERTS[alert]])
}
