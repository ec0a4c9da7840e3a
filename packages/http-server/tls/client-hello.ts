export interface ClientHello {
  /** Lower case, without a trailing dot; undefined when it is absent or no valid host name (RFC 6066, 3). */
  serverName: string | undefined
  protocols: readonly string[]
}

/** With the headers of its records. With post-quantum keys, a ClientHello has about two thousand bytes. */
export const MAX_HELLO_BYTES = 16 * 1024

/** Maximum number of records of one ClientHello. Real clients send one, or a few to evade censorship. */
const MAX_RECORDS = 64

/** Content types of records (RFC 8446, 5.1): change_cipher_spec, alert, handshake, application_data. */
const RECORD_TYPES: ReadonlySet<number> = new Set([20, 21, 22, 23])
const HANDSHAKE = 22
const CLIENT_HELLO = 1
const SERVER_NAME = 0
const APPLICATION_PROTOCOLS = 16

/** Another protocol than TLS, or the name of the TLS alert for the error (RFC 8446, 6.2). */
export type HelloError = 'not TLS' | 'unexpected_message' | 'decode_error' | 'illegal_parameter'

/** Reads the first bytes of a connection (RFC 8446, 4.1.2 and 5.1): `more` when they are incomplete. */
export function readClientHello(bytes: Buffer): ClientHello | 'more' | HelloError {
  const message = readHandshake(bytes)
  if (typeof message === 'string') return message
  try {
    return parseHello(new ByteCursor(message))
  } catch {
    return 'decode_error'
  }
}

function readHandshake(bytes: Buffer): Buffer | 'more' | HelloError {
  const pieces: Buffer[] = []
  let collected = 0
  for (let at = 0; pieces.length < MAX_RECORDS; ) {
    const error = findRecordError(bytes, at)
    if (error) return error
    if (bytes.length < at + 5) return incompleteOrOther(bytes)
    const end = at + 5 + bytes.readUInt16BE(at + 3)
    pieces.push(bytes.subarray(at + 5, end))
    collected += Math.min(end, bytes.length) - at - 5
    if (collected >= 4) {
      const message = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
      if (message[0] !== CLIENT_HELLO) return 'unexpected_message'
      const length = 4 + message.readUIntBE(1, 3)
      if (length > MAX_HELLO_BYTES) return 'illegal_parameter'
      if (collected >= length) return message.subarray(4, length)
    }
    if (bytes.length < end) return incompleteOrOther(bytes)
    at = end
  }
  return 'illegal_parameter'
}

function incompleteOrOther(bytes: Buffer): 'more' | HelloError {
  return bytes.length < MAX_HELLO_BYTES ? 'more' : 'illegal_parameter'
}

/** The error of the record at this offset, by the received part of its header. */
function findRecordError(bytes: Buffer, at: number): HelloError | undefined {
  const [type, major] = [bytes[at], bytes[at + 1]]
  const isOfTls = (type === undefined || RECORD_TYPES.has(type)) && (major === undefined || major === 3)
  if (!isOfTls) return at === 0 ? 'not TLS' : 'decode_error'
  // The version distinguishes an alert or a ChangeCipherSpec from another protocol.
  if (type !== undefined && type !== HANDSHAKE) return major === undefined ? undefined : 'unexpected_message'
  const isEmpty = bytes.length >= at + 5 && bytes.readUInt16BE(at + 3) === 0
  return isEmpty ? 'unexpected_message' : undefined
}

function parseHello(message: ByteCursor): ClientHello {
  message.skip(2 + 32)
  message.vector(1)
  message.vector(2)
  message.vector(1)
  const hello: { serverName: string | undefined; protocols: string[] } = {
    serverName: undefined,
    protocols: [],
  }
  if (message.done) return hello
  for (const extensions = message.vector(2); !extensions.done; ) {
    const type = extensions.number(2)
    const body = extensions.vector(2)
    if (type === SERVER_NAME) hello.serverName = parseServerName(body)
    else if (type === APPLICATION_PROTOCOLS) hello.protocols = parseProtocols(body)
  }
  return hello
}

function parseServerName(body: ByteCursor): string | undefined {
  const names = body.vector(2)
  const type = names.number(1)
  const name = names.vector(2).text().toLowerCase().replace(/\.$/, '')
  return type === 0 && name.length <= 253 && /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name) ? name : undefined
}

function parseProtocols(body: ByteCursor): string[] {
  const protocols: string[] = []
  for (const list = body.vector(2); !list.done; ) protocols.push(list.vector(1).text())
  return protocols
}

/** A cursor over bytes; throws a RangeError beyond the end. */
class ByteCursor {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get done(): boolean {
    return this.#at >= this.#bytes.length
  }

  skip(count: number): void {
    if (this.#at + count > this.#bytes.length) throw new RangeError('beyond the end')
    this.#at += count
  }

  number(size: number): number {
    const value = this.#bytes.readUIntBE(this.#at, size)
    this.#at += size
    return value
  }

  vector(size: number): ByteCursor {
    const length = this.number(size)
    const from = this.#at
    this.skip(length)
    return new ByteCursor(this.#bytes.subarray(from, this.#at))
  }

  text(): string {
    return this.#bytes.toString('latin1')
  }
}
