interface HelloOptions {
  serverName?: string | Buffer | undefined
  protocols?: readonly string[]
}

/** A minimal TLS 1.2 ClientHello (RFC 5246, 7.4.1.2) in one record. */
export function hello(options: HelloOptions = {}): Buffer {
  return records(helloMessage(options))
}

export function helloMessage({ serverName, protocols = [] }: HelloOptions): Buffer {
  const name = serverName === undefined ? undefined : Buffer.from(serverName)
  const extensions = [
    ...(name ? [extension(0, sized(2, Buffer.concat([Buffer.of(0), sized(2, name)])))] : []),
    ...(protocols.length > 0 ? [extension(16, sized(2, Buffer.concat(protocols.map(protocol))))] : []),
    extension(10, sized(2, Buffer.of(0, 23))),
    extension(13, sized(2, Buffer.of(4, 3))),
  ]
  const body = Buffer.concat([
    Buffer.of(3, 3),
    Buffer.alloc(32, 7),
    sized(1, Buffer.alloc(0)),
    sized(2, Buffer.of(0xc0, 0x2b)),
    sized(1, Buffer.of(0)),
    sized(2, Buffer.concat(extensions)),
  ])
  return Buffer.concat([Buffer.of(1), sized(3, body)])
}

/** Splits a handshake message into records of `bytes` bytes. */
export function records(message: Buffer, bytes = 2 ** 14): Buffer {
  const pieces: Buffer[] = []
  for (let at = 0; at < message.length; at += bytes) {
    pieces.push(Buffer.of(22, 3, 1), sized(2, message.subarray(at, at + bytes)))
  }
  return Buffer.concat(pieces)
}

function protocol(name: string): Buffer {
  return sized(1, Buffer.from(name))
}

function extension(type: number, body: Buffer): Buffer {
  return Buffer.concat([Buffer.of(type >> 8, type & 255), sized(2, body)])
}

/** Prefixes the body with its length in `size` bytes. */
function sized(size: number, body: Buffer): Buffer {
  const length = Buffer.alloc(size)
  length.writeUIntBE(body.length, 0, size)
  return Buffer.concat([length, body])
}
