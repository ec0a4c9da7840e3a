import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { noise } from '../edge/fixture.ts'
import { parseResponses, type RawResponse } from '../serving/raw-http.ts'
import { pluck } from '../support/pluck.ts'
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

const REQUESTS = 300

/** Does not divide the size of a TLS record. */
const REQUEST_BYTES = 250

test('pipelined requests over TLS are answered in order', async () => {
  await using service = await SecureService.start({ DNS_HOOK: '/bin/false' })
  const { slug } = await service.publish(FILES)
  const host = `${slug}.${SITES}`
  await service.certify(`*.${SITES}`)
  const open = () => service.handshake(host, { ALPNProtocols: ['http/1.1'] })
  const expected = new Map<string, RawResponse>()
  const paths = Array.from({ length: REQUESTS }, (_, index) => PATHS[index % PATHS.length]!)
  const responses = await sendPipelined(host, paths, await open())
  for (const path of PATHS) expected.set(path, (await sendPipelined(host, [path], await open()))[0]!)
  const statuses = paths.map((path) => expected.get(path)!.status)
  assert.deepEqual(pluck(responses, 'status'), statuses)
  for (const [index, path] of paths.entries()) {
    assert.ok(responses[index]!.body.equals(expected.get(path)!.body), `response ${index} is not for ${path}`)
  }
})

/** Sends all requests in one write, and reads until the service closes the connection. */
async function sendPipelined(host: string, paths: readonly string[], socket: Socket): Promise<RawResponse[]> {
  const requests = paths.map((path, index) => {
    const option = index === paths.length - 1 ? 'close' : 'keep-alive'
    const head = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: ${option}\r\nX-Long: `
    return `${head.padEnd(REQUEST_BYTES - 4, 'x')}\r\n\r\n`
  })
  socket.write(requests.join(''))
  const responses: RawResponse[] = []
  assert.equal(parseResponses(await untilClosed(socket), responses, { methods: [], ended: true }).length, 0)
  return responses
}
