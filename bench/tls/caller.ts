import { type ConnectionOptions, connect, createSecureContext } from 'node:tls'

/** Arguments of this program as JSON. */
export interface Caller {
  port: number
  /** The TLS server name. */
  name: string
  path: string
  /** Expected length of each body. */
  bytes: number
  seconds: number
  /** Concurrent connections. */
  connections: number
  /** Whether each connection resumes the session of the previous one. */
  resume: boolean
  version: 'TLSv1.2' | 'TLSv1.3'
}

/** Output of this program as JSON. */
export interface Calls {
  handshakes: number
  resumed: number
  seconds: number
  cipher: string
  /** The first errors, one sentence each. */
  problems: string[]
}

if (import.meta.main) console.log(JSON.stringify(await call(JSON.parse(process.argv[2]!) as Caller)))

/** Opens connections one after another in each worker, with one request each. */
async function call(caller: Caller): Promise<Calls> {
  const calls: Calls = { handshakes: 0, resumed: 0, seconds: 0, cipher: '', problems: [] }
  const { port, name, version } = caller
  const options: ConnectionOptions = {
    host: '127.0.0.1',
    port,
    servername: name,
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: false,
    // Offers only what all servers support: a negotiation would cost some of them more.
    secureContext: createSecureContext({
      minVersion: version,
      maxVersion: version,
      ecdhCurve: 'X25519:P-256',
    }),
  }
  const started = performance.now()
  const worker = async () => {
    let session: Buffer | undefined
    while (performance.now() - started < caller.seconds * 1000 && calls.problems.length === 0)
      session = (await once(caller, calls, { ...options, ...(session && { session }) })) ?? session
  }
  await Promise.all(Array.from({ length: caller.connections }, worker))
  return { ...calls, seconds: (performance.now() - started) / 1000 }
}

/** One connection; returns its session, if any. */
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
