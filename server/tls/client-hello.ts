/** What a client says before anything is encrypted, as far as the choice of a certificate depends on it. */
export interface ClientHello {
  /** Lower-case, without a dot at the end; undefined when it names none that a host could have (RFC 6066, 3). */
  serverName: string | undefined
  /** What it offers to speak (RFC 7301). */
  protocols: readonly string[]
}

/** The longest hello that is read, in bytes with those around it: with keys against quantum computers they take two thousand. */
export const LONGEST_HELLO = 16 * 1024

/** Records that a hello may be spread over: those of real clients take one, or a few to pass a censor. */
const MOST_RECORDS = 64

const HANDSHAKE = 22
const CLIENT_HELLO = 1
const SERVER_NAME = 0
const APPLICATION_PROTOCOLS = 16

/**
 * Reads the first bytes of a connection (RFC 8446, 4.1.2 and 5.1): `more` when they are not all there, `other` when they
 * are no hello.
 */
export function readClientHello(bytes: Buffer): ClientHello | 'more' | 'other' {
  const message = handshakeIn(bytes)
  if (typeof message === 'string') return message
  try {
    return helloIn(new Reader(message))
  } catch {
    return 'other'
  }
}

/** The first handshake message, which may be spread over several records. */
function handshakeIn(bytes: Buffer): Buffer | 'more' | 'other' {
  const pieces: Buffer[] = []
  let gathered = 0
  for (let at = 0; pieces.length < MOST_RECORDS; ) {
    if (startsOther(bytes, at)) return 'other'
    if (bytes.length < at + 5) return goesOn(bytes)
    const end = at + 5 + bytes.readUInt16BE(at + 3)
    pieces.push(bytes.subarray(at + 5, end))
    gathered += Math.min(end, bytes.length) - at - 5
    if (gathered >= 4) {
      const message = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
      if (message[0] !== CLIENT_HELLO) return 'other'
      const length = 4 + message.readUIntBE(1, 3)
      if (length > LONGEST_HELLO) return 'other'
      if (gathered >= length) return message.subarray(4, length)
    }
    if (bytes.length < end) return goesOn(bytes)
    at = end
  }
  return 'other'
}

function goesOn(bytes: Buffer): 'more' | 'other' {
  return bytes.length < LONGEST_HELLO ? 'more' : 'other'
}

function startsOther(bytes: Buffer, at: number): boolean {
  const [type, major] = [bytes[at], bytes[at + 1]]
  if ((type !== undefined && type !== HANDSHAKE) || (major !== undefined && major !== 3)) return true
  return bytes.length >= at + 5 && bytes.readUInt16BE(at + 3) === 0
}

function helloIn(message: Reader): ClientHello {
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
    if (type === SERVER_NAME) hello.serverName = serverNameIn(body)
    else if (type === APPLICATION_PROTOCOLS) hello.protocols = protocolsIn(body)
  }
  return hello
}

function serverNameIn(body: Reader): string | undefined {
  const names = body.vector(2)
  const type = names.number(1)
  const name = names.vector(2).text().toLowerCase().replace(/\.$/, '')
  return type === 0 && name.length <= 253 && /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name) ? name : undefined
}

function protocolsIn(body: Reader): string[] {
  const protocols: string[] = []
  for (const list = body.vector(2); !list.done; ) protocols.push(list.vector(1).text())
  return protocols
}

/** Reads on from where it is; throws a RangeError beyond the end. */
class Reader {
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

  /** What stands behind a length of `size` bytes. */
  vector(size: number): Reader {
    const length = this.number(size)
    const from = this.#at
    this.skip(length)
    return new Reader(this.#bytes.subarray(from, this.#at))
  }

  text(): string {
    return this.#bytes.toString('latin1')
  }
}
