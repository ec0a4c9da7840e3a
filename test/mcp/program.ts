import assert from 'node:assert/strict'
import { hash, randomBytes } from 'node:crypto'

export const REDIRECT_URI = 'http://127.0.0.1:33418/callback'

/** What a browser keeps of an authorization that a program began. */
export interface BegunAuthorization {
  id: string
  cookie: string
}

/** A program that asks for access, request by request. */
export class Program {
  readonly #baseUrl: string
  readonly clientId: string
  readonly verifier = randomBytes(32).toString('base64url')

  private constructor(baseUrl: string, clientId: string) {
    this.#baseUrl = baseUrl
    this.clientId = clientId
  }

  static async register(baseUrl: string, metadata: object = {}): Promise<Program> {
    const response = await register(baseUrl, {
      client_name: 'Test',
      redirect_uris: [REDIRECT_URI],
      ...metadata,
    })
    assert.equal(response.status, 201)
    return new Program(baseUrl, ((await response.json()) as { client_id: string }).client_id)
  }

  /** The program at another node. */
  at(baseUrl: string): Program {
    return new Program(baseUrl, this.clientId)
  }

  authorizationUrl(changes: Record<string, string | undefined> = {}): string {
    const parameters: Record<string, string | undefined> = {
      response_type: 'code',
      client_id: this.clientId,
      redirect_uri: REDIRECT_URI,
      code_challenge: hash('sha256', this.verifier, 'base64url'),
      code_challenge_method: 'S256',
      state: 'state',
      resource: `${this.#baseUrl}/mcp`,
      ...changes,
    }
    const given = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined)
    return `${this.#baseUrl}/oauth/authorize?${new URLSearchParams(given)}`
  }

  /** Sends the browser to the service. */
  async begin(changes?: Record<string, string | undefined>): Promise<BegunAuthorization> {
    const response = await fetch(this.authorizationUrl(changes), { redirect: 'manual' })
    const [, id] = /^\/authorize\/([\w-]+)$/.exec(response.headers.get('location') ?? '') ?? []
    assert.ok(id, await response.text())
    return { id, cookie: cookiesOf(response) }
  }

  /** The decision of a user with this key; returns where the browser continues. */
  async decide({ id, cookie }: BegunAuthorization, key: string, allow = true): Promise<Response> {
    return fetch(`${this.#baseUrl}/api/v1/authorizations/${id}`, {
      method: 'POST',
      headers: { cookie, authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ allow }),
    })
  }

  /** The code that the program gets when a user with this key allows the access. */
  async code(key: string, changes?: Record<string, string | undefined>): Promise<string> {
    const begun = await this.begin(changes)
    const { url } = (await (await this.decide(begun, key)).json()) as { url: string }
    const back = await fetch(url, { headers: { cookie: begun.cookie }, redirect: 'manual' })
    return new URL(back.headers.get('location')!).searchParams.get('code')!
  }

  exchange(code: string, changes: Record<string, string | undefined> = {}): Promise<Response> {
    return this.requestToken({
      grant_type: 'authorization_code',
      code,
      redirect_uri: REDIRECT_URI,
      code_verifier: this.verifier,
      ...changes,
    })
  }

  refresh(token: string): Promise<Response> {
    return this.requestToken({ grant_type: 'refresh_token', refresh_token: token })
  }

  async tokens(key: string, changes?: Record<string, string | undefined>): Promise<Tokens> {
    const response = await this.exchange(await this.code(key, changes))
    assert.equal(response.status, 200)
    return (await response.json()) as Tokens
  }

  requestToken(parameters: Record<string, string | undefined>): Promise<Response> {
    const given = Object.entries({ client_id: this.clientId, ...parameters })
    const body = new URLSearchParams(given.filter((pair): pair is [string, string] => pair[1] !== undefined))
    return fetch(`${this.#baseUrl}/oauth/token`, { method: 'POST', body })
  }
}

export interface Tokens {
  access_token: string
  refresh_token: string
  scope: string
  /** Seconds. */
  expires_in: number
}

export function register(baseUrl: string, metadata: object | string, query = ''): Promise<Response> {
  return fetch(`${baseUrl}/oauth/register${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof metadata === 'string' ? metadata : JSON.stringify(metadata),
  })
}

function cookiesOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ')
}
