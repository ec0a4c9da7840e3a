import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { ClientMemory } from '../../packages/http-server/clients/client-memory.ts'
import { handleNodeRequest } from '../../packages/http-server/http1/node-handler.ts'
import { Http2Server } from '../../packages/http-server/http2/http2-server.ts'
import { MemoryBudget } from '../../packages/http-server/memory/second-chance-cache.ts'
import { makeLog } from '../../server/lib/log.ts'
import { EdgeFixture } from '../edge/fixture.ts'
import { listen } from '../support/listen.ts'
import { CLIENT_PREFACE, RawClient } from './raw-client.ts'
import { selfSigned } from './self-signed.ts'

export interface H2Response {
  status: number
  headers: Record<string, unknown>
  body: Buffer
}

interface FixtureOptions {
  clientMemory?: ClientMemory
  trustedProxies?: number
}

const certificate = await selfSigned('sites.test')

/** The HTTP/2 server behind TLS on its own port, with a real edge. */
export class Http2Fixture {
  readonly edge: EdgeFixture
  readonly http2Server: Http2Server
  readonly budget = new MemoryBudget(2 ** 21)
  readonly clientMemory: ClientMemory
  /** Log lines of failed connections. */
  readonly logged: string[] = []
  /** Node's HTTP/1 server, which gets the relayed requests. */
  readonly server: Server
  /** The server's sockets of all connections. */
  readonly sockets: TLSSocket[] = []
  port = 0
  readonly #tls = createTlsServer({ ...certificate, ALPNProtocols: ['h2'], allowHalfOpen: true })
  readonly #stack = new AsyncDisposableStack()

  private constructor(
    edge: EdgeFixture,
    { clientMemory = createAmpleMemory(), trustedProxies = 0 }: FixtureOptions,
  ) {
    this.edge = edge
    this.clientMemory = clientMemory
    this.server = createServer((request, response) => handleNodeRequest(edge.edge, request, response))
    const log = makeLog({ level: 'debug', text: true, write: (line) => void this.logged.push(line) })
    this.http2Server = new Http2Server({
      handler: edge.edge,
      clock: () => edge.clock.now,
      budget: this.budget,
      clientMemory,
      trustedProxies,
      parse: (socket) => void this.server.emit('connection', socket),
      log,
    })
  }

  static async start(options: FixtureOptions = {}): Promise<Http2Fixture> {
    const fixture = new Http2Fixture(await EdgeFixture.start(), options)
    await fixture.#listen()
    return fixture
  }

  async #listen(): Promise<void> {
    this.#stack.use(this.edge)
    const server = this.#tls
    server.on('secureConnection', (socket) => {
      this.sockets.push(socket)
      this.http2Server.accept(socket)
    })
    this.port = await listen(server)
    this.#stack.defer(() => {
      server.close()
      this.http2Server.pool.close()
      this.http2Server.pool.destroy()
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }

  /** Node's HTTP/2 client. */
  client(): ClientHttp2Session {
    const session = connect(`https://127.0.0.1:${this.port}`, { rejectUnauthorized: false })
    this.#stack.defer(() => void session.destroy())
    session.on('error', () => undefined)
    return session
  }

  /** A client that sends arbitrary frames. */
  async raw(localAddress = '127.0.0.1'): Promise<RawClient> {
    const tcp = connectTcp({ host: '127.0.0.1', port: this.port, localAddress, noDelay: true })
    const socket = connectTls({ socket: tcp, rejectUnauthorized: false, ALPNProtocols: ['h2'] })
    this.#stack.defer(() => void socket.destroy())
    await Promise.all([once(socket, 'secureConnect'), once(this.#tls, 'secureConnection')])
    return new RawClient(socket)
  }

  /** The same with a client that has sent its preface and these frames. */
  async open(...frames: Buffer[]): Promise<RawClient> {
    const client = await this.raw()
    client.send(CLIENT_PREFACE, ...frames)
    return client
  }
}

function createAmpleMemory(): ClientMemory {
  return new ClientMemory({ totalBytes: 2 ** 26, perNetworkBytes: 2 ** 26 })
}

/** Sends a request and reads the complete response. */
export async function sendRequest(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body?: string | Buffer,
): Promise<H2Response> {
  const stream = session.request(headers, { endStream: body === undefined })
  if (body !== undefined) stream.end(body)
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const responded = Promise.withResolvers<Record<string, unknown>>()
  stream.on('response', (received) => responded.resolve(received))
  stream.on('close', () => responded.reject(new Error(`no response, closed with code ${stream.rstCode}`)))
  const ended = new Promise<void>((resolve, reject) => stream.on('end', resolve).on('error', reject))
  const [received] = await Promise.all([responded.promise, ended])
  const { ':status': status, ...rest } = received
  return { status: Number(status), headers: rest, body: Buffer.concat(chunks) }
}
