import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { noise } from '../edge/fixture.ts'
import { parseResponses, type RawResponse } from '../serving/raw-http.ts'
import { SecureService, SITES, untilClosed } from './secure-service.ts'

/** Responses from memory, from disk, without a file, and larger than a socket buffer. */
const PATHS = ['/', '/style.css', '/old', '/middle.bin', '/nowhere', '/large.bin']
const FILES = {
  'index.html': 'home',
  'style.css': 'body{}',
  'middle.bin': noise(15_000),
  'large.bin': noise(70_000),
  _redirects: '/old /new 301',
}

const REQUESTS = 600

/** Request sizes that do and do not divide the size of a TLS record. */
const SIZES = [256, 250]

for (const fastPath of ['on', 'off']) {
  test(`pipelined requests over TLS are answered in order, fast path ${fastPath}`, async () => {
    await using service = await SecureService.start({ FAST_PATH: fastPath, DNS_HOOK: '/bin/false' })
    const { slug } = await service.publish(FILES)
    const host = `${slug}.${SITES}`
    await service.certify(`*.${SITES}`)
    const secure = () => service.handshake(host, { ALPNProtocols: ['http/1.1'] })
    for (const size of SIZES) await assertPipelined(host, size, secure)
  })
}

async function assertPipelined(host: string, size: number, open: () => Promise<Socket>): Promise<void> {
  const expected = new Map<string, RawResponse>()
  const paths = Array.from({ length: REQUESTS }, (_, index) => PATHS[index % PATHS.length]!)
  const responses = await sendPipelined(host, paths, size, await open())
  for (const path of PATHS) expected.set(path, (await sendPipelined(host, [path], size, await open()))[0]!)
  assert.deepEqual(
    responses.map(({ status }) => status),
    paths.map((path) => expected.get(path)!.status),
  )
  for (const [index, path] of paths.entries()) {
    assert.ok(responses[index]!.body.equals(expected.get(path)!.body), `response ${index} is not for ${path}`)
  }
}

/** Sends all requests in one write, and reads until the service closes the connection. */
async function sendPipelined(
  host: string,
  paths: readonly string[],
  size: number,
  socket: Socket,
): Promise<RawResponse[]> {
  const requests = paths.map((path, index) => {
    const option = index === paths.length - 1 ? 'close' : 'keep-alive'
    const head = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: ${option}\r\nX-Long: `
    return `${head.padEnd(size - 4, 'x')}\r\n\r\n`
  })
  socket.write(requests.join(''))
  const responses: RawResponse[] = []
  assert.equal(parseResponses(await untilClosed(socket), responses, { methods: [], ended: true }).length, 0)
  return responses
}
