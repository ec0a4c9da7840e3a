import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { noise } from '../edge-fixture.ts'
import { take, type WireResponse } from '../serving/wire.ts'
import { SecureService, SITES, untilClosed } from './secure-service.ts'

/** What the site answers these with lies in memory, on disk, or nowhere, and is longer than a connection takes at once. */
const PATHS = ['/', '/style.css', '/old', '/middle.bin', '/nowhere', '/large.bin']
const FILES = {
  'index.html': 'home',
  'style.css': 'body{}',
  'middle.bin': noise(15_000),
  'large.bin': noise(70_000),
  _redirects: '/old /new 301',
}

const MANY = 600

/** Bytes of a request: as many of them as fill a TLS record, or not. */
const SIZES = [256, 250]

for (const lane of ['on', 'off']) {
  test(`requests that come all at once are answered in their order, fast lane ${lane}`, async () => {
    await using service = await SecureService.start({ FAST_PATH: lane, DNS_HOOK: '/bin/false' })
    const { slug } = await service.publish(FILES)
    const host = `${slug}.${SITES}`
    const plain = () => connect(service.running.port, '127.0.0.1')
    for (const size of SIZES) await asksForAll(host, size, plain)
    await service.certify(`*.${SITES}`)
    const secure = () => service.shake(host, { ALPNProtocols: ['http/1.1'] })
    for (const size of SIZES) await asksForAll(host, size, secure)
  })
}

async function asksForAll(host: string, size: number, open: () => Socket | Promise<Socket>): Promise<void> {
  const alone = new Map<string, WireResponse>()
  const paths = Array.from({ length: MANY }, (_, index) => PATHS[index % PATHS.length]!)
  const answers = await ask(host, paths, size, await open())
  for (const path of PATHS) alone.set(path, (await ask(host, [path], size, await open()))[0]!)
  assert.deepEqual(
    answers.map(({ status }) => status),
    paths.map((path) => alone.get(path)!.status),
  )
  for (const [index, path] of paths.entries()) {
    assert.ok(answers[index]!.body.equals(alone.get(path)!.body), `answer ${index} is not that of ${path}`)
  }
}

/** Asks for everything at once, and reads until the service ends the connection. */
async function ask(
  host: string,
  paths: readonly string[],
  size: number,
  socket: Socket,
): Promise<WireResponse[]> {
  const requests = paths.map((path, index) => {
    const option = index === paths.length - 1 ? 'close' : 'keep-alive'
    const head = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: ${option}\r\nX-Long: `
    return `${head.padEnd(size - 4, 'x')}\r\n\r\n`
  })
  socket.write(requests.join(''))
  const answers: WireResponse[] = []
  assert.equal(take(await untilClosed(socket), answers, { methods: [], ended: true }).length, 0)
  return answers
}
