import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'

/** An answer with the whole of its body. */
export interface Visit {
  status: number
  body: Buffer
}

/** Somebody who looks at sites of a service on this machine, by their hosts, over a few kept connections. */
export class SiteVisitor implements Disposable {
  readonly #port: number
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8 })

  constructor(port: number) {
    this.#port = port
  }

  /** GETs a file of a site; `host` is its slug, or the name of one version of it. Rejects when there is no whole answer. */
  async get(host: string, path: string): Promise<Visit> {
    const asked = request({
      host: '127.0.0.1',
      port: this.#port,
      path: toPath(path),
      headers: { host: `${host}.localhost:${this.#port}` },
      agent: this.#agent,
    })
    asked.end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    return { status: response.statusCode!, body: Buffer.concat(chunks) }
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}

/** Where a file is found: a root document at the root. */
function toPath(path: string): string {
  return path === 'index.html' ? '/' : `/${path.split('/').map(encodeURIComponent).join('/')}`
}
