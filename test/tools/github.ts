import { createServer, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { listen } from '../support/listen.ts'

interface Comment {
  id: number
  body: string
  user: { type: 'Bot' | 'User'; id?: number }
}

/** The users of tokens; that of a job cannot be asked for its user. */
const TOKENS: Record<string, Comment['user']> = {
  'Bearer job token': { type: 'Bot' },
  'Bearer token of a person': { type: 'User', id: 7 },
}

/** The APIs of GitHub that a job uses, on loopback: tokens of the job, and comments on pull requests. */
export class GitHub implements AsyncDisposable {
  readonly comments: Comment[] = []
  /** How many requests for tokens are answered with 503. */
  unavailable = 0
  /** Whether requests for comments are refused. */
  refusesComments = false
  #lists: { expected: number; all: PromiseWithResolvers<void> } | undefined
  #created = 0
  url = ''
  readonly #server = createServer()
  readonly #sign: (audience: string) => Promise<string>

  private constructor(sign: (audience: string) => Promise<string>) {
    this.#sign = sign
  }

  static async start(sign: (audience: string) => Promise<string>): Promise<GitHub> {
    const github = new GitHub(sign)
    github.#server.on('request', async (request, response) => {
      const { status, body } = await github.#respond(request)
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(body === undefined ? '' : JSON.stringify(body))
    })
    github.url = `http://127.0.0.1:${await listen(github.#server)}`
    return github
  }

  /** Answers no list of comments before this many are requested. */
  holdLists(expected: number): void {
    this.#lists = { expected, all: Promise.withResolvers<void>() }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #respond(request: IncomingMessage): Promise<{ status: number; body?: unknown }> {
    const { pathname, searchParams } = new URL(request.url ?? '', this.url)
    const { method, headers } = request
    if (pathname === '/token') {
      if (headers.authorization !== 'Bearer request token') return { status: 401 }
      if (this.unavailable-- > 0) return { status: 503 }
      return { status: 200, body: { value: await this.#sign(searchParams.get('audience') ?? '') } }
    }
    const user = TOKENS[headers.authorization ?? '']
    if (this.refusesComments || !user) return { status: 403 }
    if (pathname === '/user') return user.type === 'Bot' ? { status: 403 } : { status: 200, body: user }
    const id = Number(/^\/repos\/ann\/bakery\/issues\/comments\/(\d+)$/.exec(pathname)?.[1])
    const known = this.comments.find((comment) => comment.id === id)
    if (method === 'DELETE' && known) {
      this.comments.splice(this.comments.indexOf(known), 1)
      return { status: 204 }
    }
    if (method === 'PATCH' && known) {
      Object.assign(known, await json(request))
      return { status: 200, body: known }
    }
    if (pathname !== '/repos/ann/bakery/issues/2/comments') return { status: 404 }
    if (method === 'POST') {
      const { body } = (await json(request)) as { body: string }
      const created: Comment = { id: 1000 + ++this.#created, body, user }
      this.comments.push(created)
      return { status: 201, body: created }
    }
    const listed = structuredClone(this.comments)
    if (this.#lists && --this.#lists.expected === 0) this.#lists.all.resolve()
    await this.#lists?.all.promise
    return { status: 200, body: listed }
  }
}
