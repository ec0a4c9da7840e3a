import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { deterministicBytes } from '../blobs/bytes.ts'
import { HeldRequest } from '../support/http-client.ts'
import type { Program } from './program.ts'
import type { Publisher } from './publisher.ts'

// Requests that are in progress when a service stops.

export const HEALTH_REQUEST = 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'

/** More than the buffers of a connection take. */
export const LARGE = deterministicBytes('large', 8_000_000)

/** Starts an upload and sends half of it. */
export async function beginUpload(
  { service, publisher }: { service: Program; publisher: Publisher },
  bytes: Buffer,
) {
  const file = { path: 'index.html', size: bytes.length, contentType: 'text/html' }
  const { upload } = await publisher.client.create({ files: [file] })
  const { pathname, search } = new URL(upload.uploads[0]!.url)
  const held = await HeldRequest.begin(service.port, {
    method: 'PUT',
    path: pathname + search,
    headers: { 'Content-Type': 'text/html' },
    body: bytes,
  })
  await held.send(bytes.length / 2)
  return { held, bytes }
}

/** Starts a visit and reads only the head of its response. */
export async function beginVisit(port: number, slug: string, path: string): Promise<IncomingMessage> {
  const outgoing = request({
    host: '127.0.0.1',
    port,
    path,
    headers: { host: `${slug}.localhost:${port}` },
    agent: false,
  })
  outgoing.end()
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  assert.equal(response.statusCode, 200)
  return response
}

/** Sends the head of a request of an account, whose body the service waits for. */
export async function beginPost(port: number, key: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  const lines = ['POST /api/v1/publish HTTP/1.1', 'Host: localhost', 'Content-Type: application/json']
  lines.push(`Authorization: Bearer ${key}`)
  socket.write([...lines, 'Content-Length: 2', 'Expect: 100-continue', '', ''].join('\r\n'))
  const [begun] = (await once(socket, 'data')) as [Buffer]
  assert.match(begun.toString(), /^HTTP\/1.1 100 Continue\r\n\r\n$/)
  return socket
}

/** Opens a keep-alive connection that stays idle after one request. */
export async function idleConnection(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  socket.write(HEALTH_REQUEST)
  await once(socket, 'data')
  return socket
}
