import assert from 'node:assert/strict'
import { createServer, request } from 'node:http'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { describe, it } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { proxyFromEnvironment } from '../../client/sdk/proxy.ts'
import { Slipway } from '../../client/sdk/slipway.ts'
import { selfSigned } from '../http2/self-signed.ts'
import { listen } from '../support/listen.ts'
import { CliHarness } from './cli-harness.ts'
import { FakeServer } from './fake-server.ts'

/** A client whose requests go through this proxy, and end after `idleMs` without bytes. */
function clientThrough(proxy: string, baseUrl: string, idleMs = 200) {
  const env = { HTTPS_PROXY: proxy, HTTP_PROXY: proxy }
  const transport = nodeTransport({ proxyFor: proxyFromEnvironment(env), idleMs })
  return { client: new Slipway({ baseUrl, send: transport.send }), close: () => transport.close() }
}

/** A TCP server that treats each connection like this. */
async function listenTcp(onSocket: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    onSocket(socket)
  })
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

/** Answers the first bytes of each connection, and keeps it open. */
const answer = (text: string) => (socket: Socket) => socket.once('data', () => socket.write(text))
const TUNNEL = 'HTTP/1.1 200 OK\r\n\r\n'

describe('a request through a proxy', () => {
  it('over HTTP reaches any host, with the credentials of the proxy', async () => {
    await using server = await FakeServer.start()
    using cleanup = new DisposableStack()
    const seen: (string | undefined)[] = []
    const proxy = createServer((incoming, response) => {
      const { method, headers, url } = incoming
      seen.push(`${method} ${url}`, headers.host, headers['proxy-authorization'])
      const { pathname, search } = new URL(url!)
      const options = { method: method!, headers }
      const forwarded = request(new URL(pathname + search, server.url), options, (answer) => {
        response.writeHead(answer.statusCode!, answer.headers)
        answer.pipe(response)
      })
      incoming.pipe(forwarded)
    })
    const port = await listen(proxy)
    cleanup.defer(() => {
      proxy.closeAllConnections()
      proxy.close()
    })
    const proxyUrl = `100%:p%40ss@127.0.0.1:${port}`
    const { client, close } = clientThrough(proxyUrl, 'http://slipway.test', 60_000)
    cleanup.defer(close)
    const { slug } = await client.create({ files: [{ path: 'a.txt', size: 1, contentType: 'text/plain' }] })
    assert.equal(slug, 'site-1')
    const credentials = `Basic ${Buffer.from('100%:p@ss').toString('base64')}`
    assert.deepEqual(seen, ['POST http://slipway.test/api/v1/publish', 'slipway.test', credentials])
  })

  const endless = `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}`
  const misbehaving: [what: string, onSocket: (socket: Socket) => void, message: RegExp][] = [
    ['refuses', answer('HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n'), /refused the connection \(403\)/],
    ['wants a password', answer('HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n'), /requires authentication/],
    ['speaks first', answer(`${TUNNEL}hello`), /refused the connection \(200\)/],
    ['speaks no HTTP', answer('SSH-2.0-OpenSSH\r\n'), /failed: the answer is not HTTP$/],
    ['sends endless headers', answer(endless), /failed: the answer is not HTTP$/],
    ['disconnects', (socket) => socket.end(), /failed: socket hang up/],
    ['opens a tunnel and disconnects', (socket) => socket.once('data', () => socket.end(TUNNEL)), /./],
    ['opens a tunnel and stays silent', answer(TUNNEL), /timed out/],
  ]
  for (const [what, onSocket, message] of misbehaving) {
    it(`over HTTPS fails with a message when the proxy ${what}`, async () => {
      using proxy = await listenTcp(onSocket)
      const url = proxy.url.replace('//', '//ann:secret@')
      const { client, close } = clientThrough(url, 'https://slipway.test')
      await assert.rejects(client.me(), (error: Error) => {
        assert.match(error.message, message)
        assert.doesNotMatch(error.message, /secret/)
        return true
      })
      close()
    })
  }

  it('that a proxy never answers does not keep the program running', async () => {
    using proxy = await listenTcp(() => undefined)
    const { client, close } = clientThrough(proxy.url, 'https://slipway.test')
    const failed = assert.rejects(client.me(), /failed: socket hang up/)
    setImmediate(close)
    await failed
  })

  it('names the proxy when it is not running, or not a proxy URL', async () => {
    using proxy = await listenTcp(() => undefined)
    proxy[Symbol.dispose]()
    for (const baseUrl of ['http://slipway.test', 'https://slipway.test']) {
      const { client } = clientThrough(proxy.url, baseUrl)
      await assert.rejects(client.me(), new RegExp(`the proxy ${proxy.url} failed: .*ECONNREFUSED`))
      const { client: other } = clientThrough('socks5://localhost', baseUrl)
      await assert.rejects(other.me(), /must be the http or https URL/)
    }
  })
})

const cases: [env: Record<string, string>, url: string, proxy: string | undefined][] = [
  [{ HTTPS_PROXY: 'proxy:3128' }, 'https://a.test/x', 'http://proxy:3128/'],
  [{ HTTPS_PROXY: 'http://proxy:3128' }, 'http://a.test/', undefined],
  [{ http_proxy: 'https://lower', HTTP_PROXY: 'https://upper' }, 'http://a.test/', 'https://lower/'],
  [{ HTTP_PROXY: 'http://p' }, 'http://localhost:8080/', undefined],
  [{ HTTP_PROXY: 'http://p' }, 'http://site.localhost/', undefined],
  [{ HTTP_PROXY: 'http://p' }, 'http://127.0.0.1/', undefined],
  [{ HTTP_PROXY: 'http://p' }, 'http://127.evil.test/', 'http://p/'],
  [{ HTTP_PROXY: 'http://p' }, 'http://[::1]/', undefined],
  [{ HTTP_PROXY: 'http://p', NO_PROXY: '*' }, 'http://a.test/', undefined],
  [{ HTTP_PROXY: 'http://p', NO_PROXY: 'b.test, A.test' }, 'http://sub.a.test/', undefined],
  [{ HTTP_PROXY: 'http://p', NO_PROXY: '.a.test,*.c.test' }, 'http://x.c.test/', undefined],
  [{ HTTP_PROXY: 'http://p', NO_PROXY: 'a.test' }, 'http://nota.test/', 'http://p/'],
  [{ HTTP_PROXY: 'http://p', NO_PROXY: 'a.test:8080' }, 'http://a.test/', 'http://p/'],
  [{ HTTP_PROXY: 'http://p', no_proxy: 'a.test:80' }, 'http://a.test/', undefined],
  [{ HTTP_PROXY: 'http://p', NO_PROXY: '[2001:db8::1]' }, 'http://[2001:db8::1]/', undefined],
  [{ HTTP_PROXY: '', NO_PROXY: ':' }, 'http://a.test/', undefined],
]
for (const [env, url, proxy] of cases) {
  it(`the proxy of the environment is ${proxy ?? 'none'} for ${url} with ${JSON.stringify(env)}`, () => {
    assert.equal(proxyFromEnvironment(env)(url)?.href, proxy)
  })
}

describe('a failed connection is reported in plain words, with a step that helps', () => {
  const KEY = `sl_live_${'0'.repeat(32)}`
  const SSH = answer('SSH-2.0-OpenSSH\r\n')
  const HTTP = answer('HTTP/1.1 400 Bad Request\r\n\r\n')
  const CHECK_URL = 'Check the URL of the server, such as https: or http:'
  const cases: [what: string, onSocket: (socket: Socket) => void, scheme: string, lines: string[]][] = [
    ['to HTTPS of a server of HTTP', HTTP, 'https', ['failed: the answer is not HTTPS', CHECK_URL]],
    ['to HTTP of another protocol', SSH, 'http', ['failed: the answer is not HTTP', CHECK_URL]],
    ['through a proxy', SSH, 'proxy', ['failed: the answer is not HTTP', 'Check HTTPS_PROXY and HTTP_PROXY']],
  ]
  for (const [what, onSocket, scheme, lines] of cases) {
    it(what, async () => {
      using cli = new CliHarness()
      using server = await listenTcp(onSocket)
      const env: Record<string, string> = scheme === 'proxy' ? { HTTPS_PROXY: server.url } : {}
      const url = scheme === 'proxy' ? 'https://slipway.test' : server.url.replace('http', scheme)
      const { code, stderr } = await cli.run(['whoami', '--server', url], {
        env: { ...env, SLIPWAY_KEY: KEY },
      })
      const found = stderr.split('\n').map((line) => line.trim())
      assert.deepEqual([code, lines.map((line, at) => found[at]?.includes(line))], [5, [true, true]], stderr)
    })
  }

  it('to a server with a certificate of another authority', async () => {
    using cli = new CliHarness()
    const server = createTlsServer(await selfSigned('localhost'), (socket) =>
      socket.on('error', () => undefined),
    )
    const url = `https://localhost:${await listen(server)}`
    const { stderr } = await cli.run(['whoami', '--server', url], { env: { SLIPWAY_KEY: KEY } })
    server.close()
    assert.match(stderr, /failed: self-signed certificate\n {2}To trust .*NODE_EXTRA_CA_CERTS=FILE\.pem\n$/)
  })
})
