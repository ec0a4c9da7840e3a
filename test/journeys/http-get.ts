import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'

export interface HttpResponse {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

/** Sends a GET request. Resolves names under localhost to this machine (RFC 6761), which Node does not everywhere. */
export async function httpGet(address: string): Promise<HttpResponse> {
  const url = new URL(address)
  const outgoing = request({
    host: url.hostname.endsWith('.localhost') ? 'localhost' : url.hostname,
    port: url.port,
    path: url.pathname + url.search,
    headers: { Host: url.host },
    agent: false,
  })
  outgoing.end()
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  return { status: answer.statusCode!, headers: answer.headers, body: await buffer(answer) }
}

/** The URL of a file of a site, with its path percent-encoded. */
export function toUrl(siteUrl: string, path: string): string {
  return siteUrl + path.split('/').map(encodeURIComponent).join('/')
}
