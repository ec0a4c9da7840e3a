import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

export interface Visit {
  status: number
  body: Buffer
}

interface VisitorOptions {
  agent?: Agent
  maxRepeats?: number
}

/** Reads sites of a local server by their hosts, over keep-alive connections. */
export class SiteVisitor implements Disposable {
  readonly #port: number
  readonly #agent: Agent
  readonly #maxRepeats: number

  /** It closes the agent. A request that is refused until Retry-After is repeated up to `maxRepeats` times. */
  constructor(
    port: number,
    { agent = new Agent({ keepAlive: true, maxSockets: 8 }), maxRepeats = 0 }: VisitorOptions = {},
  ) {
    this.#port = port
    this.#agent = agent
    this.#maxRepeats = maxRepeats
  }

  /** GETs a file; `host` is a slug or the label of a version preview. Rejects when the response is incomplete. */
  async get(host: string, path: string): Promise<Visit> {
    for (let repeats = 0; ; repeats++) {
      const { retryAfter, ...visit } = await this.#get(host, path)
      if (visit.status !== 503 || retryAfter === undefined || repeats === this.#maxRepeats) return visit
      await pause(retryAfter * 1000)
    }
  }

  async #get(host: string, path: string): Promise<Visit & { retryAfter: number | undefined }> {
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
    const { 'retry-after': seconds } = response.headers
    const retryAfter = seconds === undefined ? undefined : Number(seconds)
    return { status: response.statusCode!, body: Buffer.concat(chunks), retryAfter }
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}

/** The URL path of a file; that of index.html is the root. */
function toPath(path: string): string {
  return path === 'index.html' ? '/' : `/${path.split('/').map(encodeURIComponent).join('/')}`
}
