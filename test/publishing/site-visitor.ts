import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'

export interface Visit {
  status: number
  body: Buffer
}

/** Reads sites of a local server by their hosts, over keep-alive connections. */
export class SiteVisitor implements Disposable {
  readonly #port: number
  readonly #agent: Agent

  /** It closes the agent. */
  constructor(port: number, agent = new Agent({ keepAlive: true, maxSockets: 8 })) {
    this.#port = port
    this.#agent = agent
  }

  /** GETs a file; `host` is a slug or the label of a version preview. Rejects when the response is incomplete. */
  async get(host: string, path: string): Promise<Visit> {
    const outgoing = request({
      host: '127.0.0.1',
      port: this.#port,
      path: toPath(path),
      headers: { host: `${host}.localhost:${this.#port}` },
      agent: this.#agent,
    })
    outgoing.end()
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    return { status: response.statusCode!, body: Buffer.concat(chunks) }
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}

/** The URL path of a file; that of index.html is the root. */
function toPath(path: string): string {
  return path === 'index.html' ? '/' : `/${path.split('/').map(encodeURIComponent).join('/')}`
}
