import { type BlockList, isIP, isIPv4, isIPv6, type Socket, SocketAddress } from 'node:net'
import type { Log } from './log.ts'
import { type readFromStream, readIntoSharedBuffer } from './shared-buffer-read.ts'

export interface ProxiedClient {
  address: string
  port: number
}

interface ProxyHeader {
  /** Undefined for a connection of the proxy itself (LOCAL, UNKNOWN), such as a health check. */
  client: ProxiedClient | undefined
  /** Bytes of the header; what follows belongs to the client. */
  length: number
}

export type ProxyHeaderError = 'missing' | 'invalid' | 'oversized'

interface ProxyProtocolOptions {
  from: BlockList
  /** The setting of `from`, for the log. */
  setting: string
  log: Log
  headerTimeoutMs?: number
  read?: typeof readFromStream
}

const HEADER_TIMEOUT_MS = 5000

const V1_START = Buffer.from('PROXY ')
const V2_SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n')
const V2_FIXED_BYTES = 16

/** Maximum size of a header of version 1, with its line end. */
const MAX_V1_BYTES = 107

/** Of version 2 with its extensions, which may be 64 KiB; proxies send less than 1 KiB. */
const MAX_V2_BYTES = 4096

/** Address families with SOCK_STREAM; UNSPEC and UNIX say nothing about the client. */
const V2_UNSPEC = 0x00
const V2_TCP4 = 0x11
const V2_TCP6 = 0x21
const V2_UNIX = 0x31

const ADDRESS_PROPERTIES = ['remoteAddress', 'remoteFamily', 'remotePort'] as const

const MESSAGES = {
  missing: 'no PROXY protocol header',
  invalid: 'invalid PROXY protocol header',
  oversized: 'oversized PROXY protocol header',
  slow: 'timeout of the PROXY protocol header',
} as const

/**
 * Reads the header of the PROXY protocol, version 1 or 2, that each connection has to begin with, and gives the socket
 * the client's address. https://www.haproxy.org/download/2.9/doc/proxy-protocol.txt
 */
export class ProxyProtocol {
  readonly #options: ProxyProtocolOptions
  readonly #pending = new Set<Socket>()
  #isClosed = false

  constructor(options: ProxyProtocolOptions) {
    this.#options = options
  }

  /** Calls `next` once the header is read, with the bytes that follow it in the socket's stream. */
  accept(socket: Socket, next: () => void): void {
    const { headerTimeoutMs = HEADER_TIMEOUT_MS, read = readIntoSharedBuffer } = this.#options
    if (this.#isClosed) return void socket.destroy()
    if (!this.#isTrusted(socket.remoteAddress)) return void this.#refuse(socket, 'peer')
    const timer = setTimeout(() => this.#refuse(socket, 'slow'), headerTimeoutMs)
    const destroy = () => socket.destroy()
    const done = () => {
      clearTimeout(timer)
      this.#pending.delete(socket)
    }
    this.#pending.add(socket)
    socket.once('close', done).once('end', destroy).once('error', destroy)
    let received = EMPTY
    const stop = read(socket, (buffer, length) => {
      received = Buffer.concat([received, buffer.subarray(0, length)])
      const header = parseProxyHeader(received)
      if (header === 'more') return
      if (typeof header === 'string') return this.#refuse(socket, header)
      stop()
      done()
      socket.off('close', done).off('end', destroy).off('error', destroy)
      if (header.client) setClient(socket, header.client)
      if (received.length > header.length) socket.unshift(received.subarray(header.length))
      next()
    })
  }

  close(): void {
    this.#isClosed = true
    for (const socket of this.#pending) socket.destroy()
  }

  #refuse(socket: Socket, reason: keyof typeof MESSAGES | 'peer'): void {
    const { log, setting } = this.#options
    const message = reason === 'peer' ? `${setting} does not include the peer` : MESSAGES[reason]
    log.summarize('warn', `connections refused: ${message}`)
    socket.destroy()
  }

  #isTrusted(peer: string | undefined): boolean {
    // Undefined when the connection is already closed.
    if (peer === undefined) return false
    const address = peer.replace(/%.*/s, '')
    return this.#options.from.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
  }
}

const EMPTY = Buffer.alloc(0)

/** `more` while the header is incomplete. */
export function parseProxyHeader(bytes: Buffer): ProxyHeader | ProxyHeaderError | 'more' {
  if (beginsLike(bytes, V2_SIGNATURE)) return parseVersion2(bytes)
  if (beginsLike(bytes, V1_START)) return parseVersion1(bytes)
  return 'missing'
}

/** Makes a socket that reads from `raw`, such as that of TLS, have the client of `raw`. */
export function inheritClient(socket: Socket, raw: Socket): void {
  for (const name of ADDRESS_PROPERTIES) {
    const own = Object.getOwnPropertyDescriptor(raw, name)
    if (own) Object.defineProperty(socket, name, own)
  }
}

function setClient(socket: Socket, { address, port }: ProxiedClient): void {
  const values = [address, isIPv4(address) ? 'IPv4' : 'IPv6', port]
  for (const [index, name] of ADDRESS_PROPERTIES.entries())
    Object.defineProperty(socket, name, { value: values[index], configurable: true })
}

function beginsLike(bytes: Buffer, start: Buffer): boolean {
  const length = Math.min(bytes.length, start.length)
  return bytes.compare(start, 0, length, 0, length) === 0
}

/** Section 2.1: `PROXY TCP4 client server port port\r\n`. */
function parseVersion1(bytes: Buffer): ProxyHeader | ProxyHeaderError | 'more' {
  const end = bytes.subarray(0, MAX_V1_BYTES).indexOf('\r\n')
  if (end < 0) return bytes.length < MAX_V1_BYTES ? 'more' : 'oversized'
  const length = end + 2
  const [family, ...fields] = bytes.toString('latin1', V1_START.length, end).split(' ')
  if (family === 'UNKNOWN') return { client: undefined, length }
  const isAddress = family === 'TCP4' ? isIPv4 : family === 'TCP6' ? isUnscopedIPv6 : undefined
  const [address = '', server = '', port = '', serverPort = ''] = fields
  const isValid =
    fields.length === 4 && isAddress?.(address) && isAddress(server) && isPort(port) && isPort(serverPort)
  return isValid ? { client: { address: normalize(address), port: Number(port) }, length } : 'invalid'
}

/** SocketAddress rejects zones such as `%eth0`. */
function isUnscopedIPv6(text: string): boolean {
  return isIPv6(text) && !text.includes('%')
}

function isPort(text: string): boolean {
  return /^(0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535
}

/** Section 2.2. */
function parseVersion2(bytes: Buffer): ProxyHeader | ProxyHeaderError | 'more' {
  if (bytes.length < V2_FIXED_BYTES) return 'more'
  const command = bytes[12]!
  const family = bytes[13]!
  const length = V2_FIXED_BYTES + bytes.readUInt16BE(14)
  if (command !== 0x20 && command !== 0x21) return 'invalid'
  if (length > MAX_V2_BYTES) return 'oversized'
  if (bytes.length < length) return 'more'
  if (command === 0x20 || family === V2_UNSPEC || family === V2_UNIX) return { client: undefined, length }
  const addressBytes = family === V2_TCP4 ? 4 : family === V2_TCP6 ? 16 : undefined
  if (addressBytes === undefined || length < V2_FIXED_BYTES + 2 * addressBytes + 4) return 'invalid'
  const address = bytes.subarray(V2_FIXED_BYTES, V2_FIXED_BYTES + addressBytes)
  const port = bytes.readUInt16BE(V2_FIXED_BYTES + 2 * addressBytes)
  return { client: { address: formatAddress(address), port }, length }
}

function formatAddress(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.')
  return normalize(bytes.toString('hex').replace(/.{4}(?=.)/g, '$&:'))
}

/** In the form in which Node reports the address of a socket. */
function normalize(address: string): string {
  const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
  return new SocketAddress({ address, family }).address
}
