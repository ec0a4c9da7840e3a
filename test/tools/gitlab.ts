import { createServer, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { listen } from '../support/listen.ts'

interface Note {
  id: number
  body: string
  author: { id: number }
}

const NOTES = '/projects/42/merge_requests/42/notes'

/** The API of GitLab for notes of merge request 42 of project 42, on loopback. */
export class GitLab implements AsyncDisposable {
  /** The user of the token of the jobs. */
  readonly bot = { id: 7 }
  readonly notes: Note[] = []
  /** Whether requests are refused. */
  refuses = false
  url = ''
  readonly #server = createServer()

  static async start(): Promise<GitLab> {
    const gitlab = new GitLab()
    gitlab.#server.on('request', async (request, response) => {
      const { status, body } = await gitlab.#respond(request)
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    })
    gitlab.url = `http://127.0.0.1:${await listen(gitlab.#server)}`
    return gitlab
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #respond(request: IncomingMessage): Promise<{ status: number; body: unknown }> {
    const { pathname, searchParams } = new URL(request.url ?? '', this.url)
    const { method, headers } = request
    if (this.refuses || headers['private-token'] !== 'project token') return { status: 403, body: {} }
    if (pathname === '/user') return { status: 200, body: this.bot }
    if (method === 'GET' && pathname === NOTES) {
      const [size, page] = ['per_page', 'page'].map((name) => Number(searchParams.get(name)))
      const sorted = searchParams.get('sort') === 'asc' ? this.notes : this.notes.toReversed()
      return { status: 200, body: sorted.slice((page! - 1) * size!, page! * size!) }
    }
    const { body } = (await json(request)) as { body: string }
    if (method === 'POST' && pathname === NOTES) {
      const created = { id: 1000 + this.notes.length, body, author: this.bot }
      this.notes.push(created)
      return { status: 201, body: created }
    }
    const known = this.notes.find(({ id }) => pathname === `${NOTES}/${id}`)
    if (method !== 'PUT' || !known) return { status: 404, body: {} }
    return { status: 200, body: Object.assign(known, { body }) }
  }
}
