import { createServer, type ServerResponse } from 'node:http'
import { after } from 'node:test'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { listen } from '../support/listen.ts'

interface TokenOptions {
  /** In seconds since 1970. */
  issuedAt: number
  audience: string
  /** Default 300. */
  lifetimeSeconds?: number
  /** Default `first`. A key that was not published has this id only. */
  keyId?: string
}

/** An OpenID Connect issuer of tokens for CI jobs, on loopback. */
export class OidcIssuer implements AsyncDisposable {
  /** Responds in place of the issuer. */
  fault: ((response: ServerResponse) => void) | undefined
  /** Paths of the requests. */
  readonly requests: string[] = []
  url = ''
  readonly #server = createServer()
  readonly #keys = new Map<string, CryptoKeyPair>()
  readonly #published = new Set<string>()
  #tokens = 0

  static async start(): Promise<OidcIssuer> {
    const issuer = new OidcIssuer()
    await issuer.publishKey('first')
    issuer.#server.on('request', ({ url = '' }, response) => void issuer.#respond(url, response))
    issuer.url = `http://127.0.0.1:${await listen(issuer.#server)}`
    return issuer
  }

  /** Adds a key to the key set. */
  async publishKey(id: string): Promise<void> {
    await this.#key(id)
    this.#published.add(id)
  }

  /** A signed token with a `jti` of its own, unless the claims have one. */
  async sign(claims: JWTPayload, options: TokenOptions): Promise<string> {
    const { issuedAt, audience, lifetimeSeconds = 300, keyId = 'first' } = options
    const { privateKey } = await this.#key(keyId)
    return new SignJWT({ iss: this.url, jti: `token ${++this.#tokens}`, ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: keyId })
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + lifetimeSeconds)
      .setAudience(audience)
      .sign(privateKey)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #key(id: string): Promise<CryptoKeyPair> {
    const known = this.#keys.get(id) ?? ((await generateKeyPair('RS256')) as CryptoKeyPair)
    this.#keys.set(id, known)
    return known
  }

  async #respond(path: string, response: ServerResponse): Promise<void> {
    this.requests.push(path)
    if (this.fault) return this.fault(response)
    const answers: Record<string, () => Promise<object>> = {
      '/.well-known/openid-configuration': async () => ({ issuer: this.url, jwks_uri: `${this.url}/keys` }),
      '/keys': async () => ({ keys: await Promise.all([...this.#published].map((id) => this.#jwk(id))) }),
    }
    const answer = answers[path]
    if (!answer) return void response.writeHead(404).end()
    response.setHeader('content-type', 'application/json').end(JSON.stringify(await answer()))
  }

  async #jwk(id: string): Promise<object> {
    const { publicKey } = await this.#key(id)
    return { ...(await exportJWK(publicKey)), kid: id, alg: 'RS256', use: 'sig' }
  }
}

let shared: Promise<OidcIssuer> | undefined

/** The issuer that the test files of a process share, which ends after them. */
export function sharedIssuer(): Promise<OidcIssuer> {
  shared ??= OidcIssuer.start().then((issuer) => {
    after(() => issuer[Symbol.asyncDispose]())
    return issuer
  })
  return shared
}
