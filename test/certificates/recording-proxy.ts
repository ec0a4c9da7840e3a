import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { Agent, createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { FOREVER, Issuer } from '../acme/issuer.ts'
import { memoryFolder } from '../tools/memory-folder.ts'

/** A proxy between a service and its CA that counts responses. */
export interface RecordingProxy extends AsyncDisposable {
  /** Replace those of the CA in the settings of the service. */
  directory: string
  caFile: string
  /** Requests with a 2xx response. */
  counts: { accounts: number; orders: number; refusedNonces: number }
}

/** CAs build their URLs from the Host header, so all requests pass the proxy. */
export async function startRecordingProxy(ca: {
  directory: string
  caFile: string
}): Promise<RecordingProxy> {
  await using started = new AsyncDisposableStack()
  const url = new URL(ca.directory)
  const agent = new Agent({ keepAlive: true, maxSockets: 20, ca: await readFile(ca.caFile) })
  started.defer(() => agent.destroy())
  const directory = JSON.parse((await forward(url, agent)).body.toString())
  const [newAccount, newOrder] = [urlPath(directory.newAccount), urlPath(directory.newOrder)]
  const counts = { accounts: 0, orders: 0, refusedNonces: 0 }
  const { chain: cert, key, caFile } = await identity(started, url.hostname)
  const count = (path: string, { status, body }: ProxiedResponse) => {
    if (status === 201 && path === newAccount) counts.accounts++
    if (status === 201 && path === newOrder) counts.orders++
    if (status === 400 && body.includes('acme:error:badNonce')) counts.refusedNonces++
  }
  const server = createServer({ cert, key }, (incoming, reply) => {
    forwardIncoming(incoming, new URL(incoming.url!, url), agent).then(
      (response) => {
        count(incoming.url!, response)
        reply.writeHead(response.status, response.headers).end(response.body)
      },
      () => reply.destroy(),
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  started.defer(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const owned = started.move()
  return {
    directory: `https://${url.hostname}:${port}${url.pathname}`,
    caFile,
    counts,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

interface ProxiedResponse {
  status: number
  headers: IncomingMessage['headers']
  body: Buffer
}

async function forwardIncoming(incoming: IncomingMessage, url: URL, agent: Agent): Promise<ProxiedResponse> {
  const { method = 'GET', headers } = incoming
  const { connection: _, ...rest } = headers
  return forward(url, agent, { method, headers: rest, body: await buffer(incoming) })
}

async function forward(
  url: URL,
  agent: Agent,
  {
    method = 'GET',
    headers = {},
    body = Buffer.alloc(0),
  }: Partial<ProxiedResponse> & { method?: string } = {},
): Promise<ProxiedResponse> {
  const { hostname, port, pathname, search } = url
  const outgoing = request({
    agent,
    method,
    headers,
    hostname,
    servername: /^[\d.]+$/.test(hostname) ? '' : hostname,
    port,
    path: pathname + search,
  })
  outgoing.end(body)
  const [reply] = (await once(outgoing, 'response')) as [IncomingMessage]
  const { connection: _, 'transfer-encoding': __, ...forwarded } = reply.headers
  return { status: reply.statusCode!, headers: forwarded, body: await buffer(reply) }
}

async function identity(started: AsyncDisposableStack, name: string) {
  const issuer = await Issuer.create()
  const caFile = join(started.use(await memoryFolder()).path, 'ca.pem')
  await writeFile(caFile, issuer.root)
  return { ...(await issuer.issueWithKey({ names: [name], ...FOREVER })), caFile }
}

function urlPath(address: string): string {
  return new URL(address).pathname
}
