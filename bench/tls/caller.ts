import { type ConnectionOptions, connect, createSecureContext } from 'node:tls'

/** What this program is started with, as JSON: whom to call, and how. */
export interface Caller {
  port: number
  /** The name to ask for in the handshake. */
  name: string
  path: string
  /** How long the body of each answer has to be. */
  bytes: number
  seconds: number
  /** Connections at the same time. */
  lanes: number
  /** Whether each connection goes on with the session of the one before. */
  resume: boolean
  version: 'TLSv1.2' | 'TLSv1.3'
}

/** What this program prints at its end, as JSON. */
export interface Calls {
  handshakes: number
  resumed: number
  seconds: number
  cipher: string
  /** What went wrong, one sentence each; the first ones. */
  problems: string[]
}

if (import.meta.main) console.log(JSON.stringify(await call(JSON.parse(process.argv[2]!) as Caller)))

/** Opens one connection after another in each lane, and asks each for one answer. */
async function call(caller: Caller): Promise<Calls> {
  const calls: Calls = { handshakes: 0, resumed: 0, seconds: 0, cipher: '', problems: [] }
  const { port, name, version } = caller
  const options: ConnectionOptions = {
    host: '127.0.0.1',
    port,
    servername: name,
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: false,
    // Of what servers here know, all know this one: some would take longer for one that others do not have.
    secureContext: createSecureContext({
      minVersion: version,
      maxVersion: version,
      ecdhCurve: 'X25519:P-256',
    }),
  }
  const started = performance.now()
  const lane = async () => {
    let session: Buffer | undefined
    while (performance.now() - started < caller.seconds * 1000 && calls.problems.length === 0)
      session = (await once(caller, calls, { ...options, ...(session && { session }) })) ?? session
  }
  await Promise.all(Array.from({ length: caller.lanes }, lane))
  return { ...calls, seconds: (performance.now() - started) / 1000 }
}

/** One connection; answers the session that it was given, if it was given one. */
function once(
  { name, port, path, bytes, resume }: Caller,
  calls: Calls,
  options: ConnectionOptions,
): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    let session: Buffer | undefined
    let got = 0
    let head = ''
    const socket = connect(options, () => {
      calls.handshakes++
      if (socket.isSessionReused()) calls.resumed++
      calls.cipher = socket.getCipher().standardName
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${name}:${port}\r\nConnection: close\r\n\r\n`)
    })
    if (resume)
      socket.on('session', (given) => {
        session = given
      })
    socket.on('data', (chunk: Buffer) => {
      if (got === 0) head = chunk.toString('latin1', 0, 15)
      got += chunk.length
    })
    socket.on('error', (error) => calls.problems.push(error.message))
    socket.on('close', () => {
      if (got < bytes || !head.startsWith('HTTP/1.1 200')) calls.problems.push(`${got} bytes came: ${head}`)
      resolve(session)
    })
  })
}
