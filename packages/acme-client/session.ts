import { type AcmeAccountStore, AcmeError, type AcmeLog } from './acme.ts'
import { type AcmeDirectory, missingEab, readDirectory } from './directory.ts'
import { AccountKey, createExternalBinding, generateKey, type Signer, signRequest } from './jws.ts'
import { parseObject, parseProblemBody, parseRetryAfter, requireLocation, toAcmeError } from './response.ts'
import { type AcmeTransport, type Deadline, type HttpResponse, unreachable } from './transport.ts'

export interface AcmeSessionOptions {
  account: AcmeAccountStore
  /** URL of the CA's directory. */
  directory: string
  /** Contact address for the CA; may be empty. */
  email: string
  /** External account binding (RFC 8555, 7.3.4). */
  eab?: { keyId: string; hmacKey: string } | undefined
  clock: () => number
  log: AcmeLog
}

/** A request that the account signs. */
interface AcmeCall {
  url: string
  /** Undefined for POST-as-GET. */
  payload?: object
  /** What the request is for ("create an order"), for error messages. */
  action: string
}

/** Time to live of the cached directory, in milliseconds. */
const DIRECTORY_TTL_MS = 600_000

/** Maximum number of attempts of one request with a new nonce. */
const MAX_NONCE_TRIES = 25
const MAX_STORED_NONCES = 20

/** Initial interval between two polls in milliseconds when the CA sends none, and its growth. */
const INITIAL_POLL_DELAY_MS = 250
const MAX_POLL_DELAY_MS = 5000
const POLL_BACKOFF_FACTOR = 1.6

/** Maximum number of consecutive polls that may fail because the CA is unreachable. */
const MAX_CONSECUTIVE_FAILURES = 3

/**
 * Requests to a CA: its directory, its nonces, and the account that signs.
 */
export class AcmeSession {
  readonly #options: AcmeSessionOptions
  readonly #transport: AcmeTransport
  /** Unused nonces (RFC 8555, 6.5), the newest last. */
  readonly #nonces: string[] = []
  #directory: { fetchedAt: number; directory: Promise<AcmeDirectory> } | undefined
  #account: Promise<Required<Signer>> | undefined

  constructor(options: AcmeSessionOptions, transport: AcmeTransport) {
    this.#options = options
    this.#transport = transport
  }

  /** The directory of the CA, cached for some minutes. */
  directory(deadline: Deadline): Promise<AcmeDirectory> {
    const now = this.#options.clock()
    if (this.#directory && isFresh(this.#directory.fetchedAt, now)) return this.#directory.directory
    const fetched = { fetchedAt: now, directory: this.#fetchDirectory(deadline) }
    this.#directory = fetched
    fetched.directory.catch(() => {
      if (this.#directory === fetched) this.#directory = undefined
    })
    return fetched.directory
  }

  /** Fetches the directory again with the next call: after an outage it may have changed. */
  forgetDirectory(): void {
    this.#directory = undefined
  }

  /** The URL of the account; undefined before it is registered. */
  async findAccountUrl(): Promise<string | undefined> {
    return this.#options.account.findUrl()
  }

  /** The key of the account, which is registered if it does not exist yet. */
  async accountKey(deadline: Deadline): Promise<AccountKey> {
    return (await this.#openAccount(deadline)).key
  }

  /** Sends a request without a signature and returns any response. */
  get(url: string, deadline: Deadline): Promise<HttpResponse> {
    return this.#transport.request({ method: 'GET', url }, deadline)
  }

  /** Sends a signed request and returns the response, 2xx only. */
  async request(call: AcmeCall, deadline: Deadline): Promise<HttpResponse> {
    const response = await this.send(call, deadline)
    if (response.status < 200 || response.status >= 300) throw this.failure(response, call.action)
    return response
  }

  /**
   * Sends a signed request and returns any response. An account that the CA no longer knows is registered
   * again once, with the same key.
   */
  async send(call: AcmeCall, deadline: Deadline): Promise<HttpResponse> {
    const signer = await this.#openAccount(deadline)
    const response = await this.#sendSigned(signer, call, deadline)
    if (response.status < 400 || parseProblemBody(response).type !== 'accountDoesNotExist') return response
    await this.#forgetAccount(signer.kid)
    return this.#sendSigned(await this.#openAccount(deadline), call, deadline)
  }

  /**
   * Requests a resource at intervals until `check` returns a value for the response. A CA may ask to wait longer than the
   * call may take, a day for example, and complete within seconds: then once more before the end.
   */
  async poll<T>(
    call: AcmeCall,
    deadline: Deadline,
    check: (response: HttpResponse) => T | undefined | Promise<T | undefined>,
  ): Promise<T> {
    const { clock } = this.#options
    let failures = 0
    for (
      let delay = INITIAL_POLL_DELAY_MS;
      ;
      delay = Math.min(delay * POLL_BACKOFF_FACTOR, MAX_POLL_DELAY_MS)
    ) {
      let retryAfter: number | undefined
      try {
        const response = await this.request(call, deadline)
        const result = await check(response)
        if (result !== undefined) return result
        failures = 0
        retryAfter = parseRetryAfter(response, clock())
      } catch (error) {
        if (!isTransient(error) || ++failures === MAX_CONSECUTIVE_FAILURES) throw error
      }
      const wait = Math.max(retryAfter ?? delay, INITIAL_POLL_DELAY_MS)
      if (!deadline.allows(wait) && (await deadline.pauseUntilLast())) continue
      await deadline.pause(wait, clock())
    }
  }

  failure(response: HttpResponse, action: string): AcmeError {
    return toAcmeError(response, action, this.#options.clock())
  }

  async #fetchDirectory(deadline: Deadline): Promise<AcmeDirectory> {
    const { directory, clock } = this.#options
    return readDirectory(await this.get(directory, deadline), clock())
  }

  #openAccount(deadline: Deadline): Promise<Required<Signer>> {
    if (this.#account) return this.#account
    const account = this.#loadAccount(deadline)
    this.#account = account
    account.catch(() => {
      if (this.#account === account) this.#account = undefined
    })
    return account
  }

  async #loadAccount(deadline: Deadline): Promise<Required<Signer>> {
    const { account, directory, log } = this.#options
    const stored = (await account.find()) ?? (await account.findOrCreate(generateKey()))
    const key = new AccountKey(stored.key)
    if (stored.url !== null) return { key, kid: stored.url }
    const kid = await this.#newAccount(key, deadline)
    await account.setUrl(kid)
    log.info('ACME account registered', { directory, account: kid })
    return { key, kid }
  }

  /** RFC 8555, 7.3: returns the URL of the key's account, which may exist already. */
  async #newAccount(key: AccountKey, deadline: Deadline): Promise<string> {
    const { newAccount: url, externalAccountRequired } = await this.directory(deadline)
    const { email, eab } = this.#options
    if (externalAccountRequired && !eab) throw missingEab()
    const payload = {
      termsOfServiceAgreed: true,
      ...(email ? { contact: [`mailto:${email}`] } : {}),
      ...(eab ? { externalAccountBinding: createExternalBinding(key, { ...eab, url }) } : {}),
    }
    const response = await this.#sendSigned({ key }, { url, payload }, deadline)
    if (response.status === 200 || response.status === 201) return parseAccountUrl(response)
    const failure = this.failure(response, 'create an account')
    throw failure.type === 'externalAccountRequired' ? missingEab(failure) : failure
  }

  /** The CA does not know the account at this URL: it is registered again with the same key. */
  async #forgetAccount(url: string): Promise<void> {
    this.#account = undefined
    await this.#options.account.forgetUrl(url)
  }

  /** Sends a signed request (RFC 8555, 6), again when the CA rejects its nonce; returns any response. */
  async #sendSigned(
    signer: Signer,
    { url, payload }: Omit<AcmeCall, 'action'>,
    deadline: Deadline,
  ): Promise<HttpResponse> {
    for (let tries = 1; ; tries++) {
      const nonce = this.#nonces.pop() ?? (await this.#newNonce(deadline))
      const body = signRequest(signer, { url, nonce, payload })
      const response = await this.#transport.request({ method: 'POST', url, body }, deadline)
      const isBadNonce = response.status === 400 && parseProblemBody(response).type === 'badNonce'
      // The CA may have dropped the other nonces too.
      if (isBadNonce) this.#nonces.length = 0
      this.#addNonce(response)
      if (!isBadNonce || tries === MAX_NONCE_TRIES) return response
    }
  }

  async #newNonce(deadline: Deadline): Promise<string> {
    const { newNonce: url } = await this.directory(deadline)
    const response = await this.#transport.request({ method: 'HEAD', url }, deadline)
    if (response.status !== 200 && response.status !== 204) throw this.failure(response, 'return a nonce')
    this.#addNonce(response)
    const nonce = this.#nonces.pop()
    if (nonce === undefined) throw unreachable('returned no nonce')
    return nonce
  }

  #addNonce({ headers }: HttpResponse): void {
    const nonce = headers['replay-nonce']
    if (typeof nonce !== 'string' || !/^[\w-]{1,500}$/.test(nonce)) return
    this.#nonces.push(nonce)
    if (this.#nonces.length > MAX_STORED_NONCES) this.#nonces.shift()
  }
}

function parseAccountUrl(response: HttpResponse): string {
  const url = requireLocation(response, 'the account')
  const { status } = parseObject(response)
  if (status === undefined || status === 'valid') return url
  throw new AcmeError(
    'rejected',
    `The account at the certificate authority is ${String(status).slice(0, 40)}`,
  )
}

function isFresh(fetchedAt: number, now: number): boolean {
  return now >= fetchedAt && now - fetchedAt < DIRECTORY_TTL_MS
}

function isTransient(error: unknown): boolean {
  return error instanceof AcmeError && error.kind === 'unreachable' && error.notBefore === undefined
}
