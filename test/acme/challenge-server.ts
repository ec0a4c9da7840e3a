import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createSecureContext, createServer as createTlsServer, type Server as TlsServer } from 'node:tls'
import type { ChallengeResponse, ChallengeSolver, ChallengeType } from '../../packages/acme-client/acme.ts'
import { challengeCertificate } from '../../packages/acme-client/x509.ts'

export interface Texts {
  setText(name: string, value: string): Promise<void>
  clearText(name: string): Promise<void>
}

/** Serves challenges on its own ports; those of DNS through `texts`. */
export class ChallengeServer implements ChallengeSolver, AsyncDisposable {
  /** Challenges served now. */
  readonly active: ChallengeResponse[] = []
  /** All challenges ever presented. */
  readonly presented: ChallengeResponse[] = []
  /** The preferred type first. */
  preferredTypes: readonly ChallengeType[] = ['http-01', 'tls-alpn-01', 'dns-01']
  texts: Texts | undefined
  readonly #http: Server
  readonly #tls: TlsServer

  private constructor() {
    this.#http = createServer((request, response) => {
      const proof = this.active.find(({ type, token, name }) => {
        const path = `/.well-known/acme-challenge/${token}`
        return type === 'http-01' && request.url === path && request.headers.host?.split(':')[0] === name
      })
      response.writeHead(proof ? 200 : 404, { 'content-type': 'text/plain' }).end(proof?.keyAuthorization)
    })
    this.#tls = createTlsServer({
      ALPNProtocols: ['acme-tls/1'],
      SNICallback: (name, answer) => {
        this.#challengeContext(name).then((context) => answer(null, context), answer)
      },
    })
    this.#tls.on('tlsClientError', () => undefined)
  }

  static async start({ address = '127.0.0.1', httpPort = 0, tlsPort = 0 } = {}): Promise<ChallengeServer> {
    const server = new ChallengeServer()
    await once(server.#http.listen(httpPort, address), 'listening')
    await once(server.#tls.listen(tlsPort, address), 'listening')
    return server
  }

  get ports(): { httpPort: number; tlsPort: number } {
    return {
      httpPort: (this.#http.address() as AddressInfo).port,
      tlsPort: (this.#tls.address() as AddressInfo).port,
    }
  }

  types(): readonly ChallengeType[] {
    return this.preferredTypes
  }

  async present(proof: ChallengeResponse): Promise<void> {
    this.active.push(proof)
    this.presented.push(proof)
    if (proof.type === 'dns-01') await this.texts!.setText(`_acme-challenge.${proof.name}`, dnsText(proof))
  }

  async remove(proof: ChallengeResponse): Promise<void> {
    const index = this.active.findIndex(({ type, token }) => type === proof.type && token === proof.token)
    if (index !== -1) this.active.splice(index, 1)
    if (proof.type === 'dns-01') await this.texts!.clearText(`_acme-challenge.${proof.name}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#http.closeAllConnections()
    this.#http.close()
    this.#tls.close()
  }

  async #challengeContext(name: string) {
    const proof = this.active.find((one) => one.type === 'tls-alpn-01' && one.name === name)
    if (!proof) throw new Error(`no challenge for ${name}`)
    const { certificate, key } = await challengeCertificate(name, proof.keyAuthorization)
    return createSecureContext({ cert: certificate, key })
  }
}

/** RFC 8555, 8.4. */
function dnsText({ keyAuthorization }: ChallengeResponse): string {
  return createHash('sha256').update(keyAuthorization).digest('base64url')
}
