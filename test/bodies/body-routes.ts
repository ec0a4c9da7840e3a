import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type Api, toTarget } from '../api/api.ts'
import { make } from '../api/archive-requests.ts'
import { toManifest } from '../api/content.ts'
import { buildTar } from '../api/pending-version.ts'
import { noise } from '../edge/fixture.ts'

/** A request with a body. */
export interface BodyRequest {
  name: string
  method: 'POST' | 'PUT'
  target: string
  type: string
  body: Buffer
  /** The status of its response. */
  status: number
}

const SMALL = { 'index.html': 'hello', 'a.txt': 'x'.repeat(3000) }
const LARGE_BYTES = 300 * 1024

/** One request to each route that reads a body. */
export async function bodyRequests(api: Api): Promise<BodyRequest[]> {
  const upload = async (name: string, body: Buffer): Promise<BodyRequest> => {
    const { upload } = await api.create(api.anonymous, { 'a.bin': body })
    const [{ url, headers }] = upload.uploads as [(typeof upload.uploads)[0]]
    return { name, method: 'PUT', target: toTarget(url), type: headers['Content-Type']!, body, status: 200 }
  }
  const { upload: plan } = await api.create(api.anonymous, SMALL)
  const post = (name: string, target: string, type: string, body: string | Buffer, status: number) => {
    return { name, method: 'POST', target, type, body: Buffer.from(body), status } as const
  }
  const publish = (name: string, type: string, body: string | Buffer) =>
    post(name, '/api/v1/publish', `application/${type}`, body, 201)
  const signIn = JSON.stringify({ email: 'a@example.org', code: 'ABCD-2345' })
  return [
    publish('a manifest', 'json', JSON.stringify({ files: toManifest(SMALL) })),
    post('a request to sign in', '/api/auth/agent/verify-code', 'application/json', signIn, 400),
    await upload('a small file', noise(3000)),
    await upload('a large file', noise(LARGE_BYTES)),
    {
      name: 'a bundle',
      method: 'PUT',
      target: toTarget(plan.bundle!.url),
      type: 'application/x-tar',
      body: buildTar(SMALL),
      status: 200,
    },
    publish('a zip', 'zip', make('zip', SMALL)),
    publish('a tar', 'x-tar', make('tar', SMALL)),
    publish('a tar.gz', 'gzip', make('tar.gz', SMALL)),
    post('a report of a browser', '/_reports/csp', 'application/csp-report', '{"csp-report":{}}', 204),
  ]
}

/** The head of the request, for a chunked body. */
export function formatHead({ method, target, type }: Record<'method' | 'target' | 'type', string>): string {
  return `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`
}

/** Encodes a body in chunks of `size` bytes, without the last chunk. */
export function chunked(body: Buffer, size: number): Buffer {
  const chunks: Buffer[] = []
  for (let at = 0; at < body.length; at += size) {
    const chunk = body.subarray(at, at + size)
    chunks.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'))
  }
  return Buffer.concat(chunks)
}

export const LAST_CHUNK = '0\r\n\r\n'

/** Sends bytes to the service on a new connection. */
export async function send(port: number, ...parts: (string | Buffer)[]): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  // Writing fails if the service closes the connection first.
  socket.on('error', () => undefined)
  for (const part of parts) socket.write(part)
  return socket
}

/** The first packet of the response on a connection, or '' when it ends without one. */
export async function firstResponse(socket: Socket): Promise<string> {
  if (!socket.closed) await Promise.race([once(socket, 'readable'), once(socket, 'close')])
  return String(socket.read() ?? '')
}
