import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { Agent, createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { FOREVER, Issuer } from '../acme/issuer.ts'
import { memoryFolder } from '../tools/memory-folder.ts'

/** Who stands between a service and its CA, passes everything on as it is, and counts. */
export interface RecordingProxy extends AsyncDisposable {
  /** For the service, in place of those of the CA. */
  directory: string
  caFile: string
  /** Requests with a 2xx response. */
  seen: { accounts: number; orders: number; refusedNonces: number }
}

/** CAs make addresses from the host that they are asked at, so that all requests come this way. */
export async function startRecordingProxy(ca: {
  directory: string
  caFile: string
}): Promise<RecordingProxy> {
  await using started = new AsyncDisposableStack()
  const url = new URL(ca.directory)
  const agent = new Agent({ keepAlive: true, maxSockets: 20, ca: await readFile(ca.caFile) })
  started.defer(() => agent.destroy())
  const directory = JSON.parse((await ask(url, agent)).body.toString())
  const [newAccount, newOrder] = [urlPath(directory.newAccount), urlPath(directory.newOrder)]
  const seen = { accounts: 0, orders: 0, refusedNonces: 0 }
  const { chain: cert, key, caFile } = await identity(started, url.hostname)
  const count = (path: string, { status, body }: ProxiedResponse) => {
    if (status === 201 && path === newAccount) seen.accounts++
    if (status === 201 && path === newOrder) seen.orders++
    if (status === 400 && body.includes('acme:error:badNonce')) seen.refusedNonces++
  }
  const server = createServer({ cert, key }, (incoming, answer) => {
    passOn(incoming, new URL(incoming.url!, url), agent).then(
      (response) => {
        count(incoming.url!, response)
        answer.writeHead(response.status, response.headers).end(response.body)
      },
      () => answer.destroy(),
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
    seen,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

interface ProxiedResponse {
  status: number
  headers: IncomingMessage['headers']
  body: Buffer
}

async function passOn(incoming: IncomingMessage, url: URL, agent: Agent): Promise<ProxiedResponse> {
  const { method = 'GET', headers } = incoming
  const { connection: _, ...rest } = headers
  return ask(url, agent, { method, headers: rest, body: await buffer(incoming) })
}

async function ask(
  url: URL,
  agent: Agent,
  {
    method = 'GET',
    headers = {},
    body = Buffer.alloc(0),
  }: Partial<ProxiedResponse> & { method?: string } = {},
): Promise<ProxiedResponse> {
  const { hostname, port, pathname, search } = url
  const asked = request({
    agent,
    method,
    headers,
    hostname,
    servername: /^[\d.]+$/.test(hostname) ? '' : hostname,
    port,
    path: pathname + search,
  })
  asked.end(body)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  const { connection: _, 'transfer-encoding': __, ...forwarded } = answer.headers
  return { status: answer.statusCode!, headers: forwarded, body: await buffer(answer) }
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
