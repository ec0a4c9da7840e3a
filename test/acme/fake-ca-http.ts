import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FOREVER, Issuer } from './issuer.ts'

/** A response of a CA: an object as body is sent as JSON. A function handles the request itself. */
export type CaResponse =
  | { status: number; headers?: Record<string, string>; body?: unknown }
  | ((request: IncomingMessage, response: ServerResponse) => void)

/** A problem document (RFC 7807, RFC 8555, 6.7). */
export function problem(
  status: number,
  type: string,
  detail: string,
  headers: Record<string, string> = {},
): CaResponse {
  return {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
    body: { type: `urn:ietf:params:acme:error:${type}`, detail, status },
  }
}

/** An HTTPS server on a free port, with a certificate of its own issuer. */
export interface FakeCaHttpServer {
  origin: string
  issuer: Issuer
  /** PEM of the issuer's root. */
  caFile: string
  owned: AsyncDisposableStack
  /** Set by the caller. `headers` are defaults for the response. */
  answer: (request: IncomingMessage) => Promise<{ answer: CaResponse; headers: Record<string, string> }>
}

export async function startFakeCaHttp(): Promise<FakeCaHttpServer> {
  await using opened = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'slipway-ca-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const issuer = await Issuer.create()
  const caFile = join(folder, 'root.pem')
  await writeFile(caFile, issuer.root)
  const { chain, key } = await issuer.issueWithKey({ names: ['localhost', '127.0.0.1'], ...FOREVER })
  const server = createServer({ cert: chain, key }, async (request, response) => {
    const { answer, headers } = await ca.answer(request)
    send(answer, request, response, headers)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  opened.defer(async () => {
    server.close()
    server.closeAllConnections()
    if (server.listening) await once(server, 'close')
  })
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const noHandler = () => Promise.reject(new Error('there is no handler yet'))
  const ca: FakeCaHttpServer = { origin, issuer, caFile, owned: opened.move(), answer: noHandler }
  return ca
}

/** Headers of the response override the default ones. */
function send(
  answer: CaResponse,
  request: IncomingMessage,
  response: ServerResponse,
  defaultHeaders: Record<string, string>,
): void {
  if (typeof answer === 'function') {
    answer(request, response)
    return
  }
  const { status, headers = {}, body } = answer
  response.writeHead(status, { 'content-type': 'application/json', ...defaultHeaders, ...headers })
  response.end(typeof body === 'object' ? JSON.stringify(body) : (body as string | undefined))
}
