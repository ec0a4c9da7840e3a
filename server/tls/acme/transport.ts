import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import { createSecureContext, getCACertificates } from 'node:tls'
import { AcmeFailure } from './acme.ts'
import type { Patience } from './patience.ts'

export interface TransportOptions {
  /** PEM of roots to trust besides those that Node trusts. */
  caFile?: string | undefined
  /** For the User-Agent (RFC 8555, 6.1). */
  version: string
  /** Milliseconds that one request may take. */
  requestTime: number
}

export interface Question {
  method: 'GET' | 'HEAD' | 'POST'
  url: string
  body?: string
}

export interface Reply {
  url: string
  status: number
  headers: IncomingHttpHeaders
  body: string
}

const LONGEST_ANSWER = 1024 * 1024
const LONGEST_URL = 2048
const MOST_CONNECTIONS = 8

/** An idle connection is closed before most servers would close it, in milliseconds. */
const IDLE = 4000

/** HTTPS to a CA: verified, bounded in bytes and time, redirects are answers like any other. */
export class Transport implements Disposable {
  readonly #agent: Agent
  readonly #headers: Record<string, string>
  readonly #requestTime: number

  /** Throws when the file with the roots cannot be read. */
  constructor({ caFile, version, requestTime }: TransportOptions) {
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: MOST_CONNECTIONS,
      timeout: IDLE,
      ...trust(caFile),
    })
    this.#headers = { 'user-agent': `slipway/${version}`, 'accept-language': 'en' }
    this.#requestTime = requestTime
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }

  /** Whatever the CA answers; throws `AcmeFailure` when it does not. */
  async ask(question: Question, patience: Patience): Promise<Reply> {
    const url = secure(question.url)
    const time = patience.upTo(this.#requestTime)
    const signal = AbortSignal.timeout(time)
    try {
      return await this.#once(question, url, signal)
    } catch (error) {
      if (signal.aborted) throw away(`does not answer within ${Math.round(time / 1000)} seconds`, error)
      if (!(error instanceof ClosedMeanwhile)) throw failure(error)
    }
    return this.#once(question, url, signal).catch((error) => Promise.reject(failure(error)))
  }

  async #once({ method, body }: Question, url: URL, signal: AbortSignal): Promise<Reply> {
    const headers = { ...this.#headers, ...(body === undefined ? {} : bodyHeaders(body)) }
    const options: RequestOptions = { method, headers, agent: this.#agent, signal }
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const asking = request(url, options, resolve).on('error', (error: NodeJS.ErrnoException) => {
      const unread = asking.reusedSocket && error.code === 'ECONNRESET' && method !== 'POST'
      reject(unread ? new ClosedMeanwhile() : error)
    })
    // Without an error when the answer is to switch the protocol.
    asking.on('close', () => reject(new Error('the connection is closed')))
    asking.end(body)
    const answer = await promise
    const { statusCode, headers: answered } = answer
    return { url: url.href, status: statusCode!, headers: answered, body: await whole(answer) }
  }
}

/** A connection that was kept was closed by the other side: it may have read this request or not, which changes nothing. */
class ClosedMeanwhile extends Error {}

function trust(caFile: string | undefined): object {
  if (!caFile) return {}
  const ca = [...getCACertificates('default'), readFileSync(caFile, 'utf8')]
  return { secureContext: createSecureContext({ ca }) }
}

function secure(address: string): URL {
  const url = URL.parse(address)
  if (url?.protocol !== 'https:' || address.length > LONGEST_URL) {
    throw away('gave an address that is none of HTTPS')
  }
  return url
}

function bodyHeaders(body: string): Record<string, string | number> {
  return { 'content-type': 'application/jose+json', 'content-length': Buffer.byteLength(body) }
}

async function whole(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > LONGEST_ANSWER) throw away('answered with more than a megabyte')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function failure(error: unknown): AcmeFailure {
  if (error instanceof AcmeFailure) return error
  const code = (error as NodeJS.ErrnoException).code ?? 'no reason given'
  if (/CERT|SIGNED|ISSUER|SIGNATURE|ALTNAME/.test(code))
    return away(`shows a certificate that is not trusted (${code}; see SLIPWAY_ACME_CA_FILE)`, error)
  return away(`cannot be reached (${code})`, error)
}

/** `what` it did, as the rest of a sentence. */
export function away(what: string, cause?: unknown): AcmeFailure {
  return new AcmeFailure('away', `The certificate authority ${what}`, { cause })
}

/** Where something new is, by its `Location`; throws `AcmeFailure` when that is not said. */
export function locationOf(reply: Reply, what: string): string {
  const url = URL.parse(reply.headers.location ?? '', reply.url)
  if (reply.headers.location === undefined || url === null) throw away(`did not say where ${what} is`)
  return url.href
}
