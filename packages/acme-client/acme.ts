export type ChallengeType = 'http-01' | 'tls-alpn-01' | 'dns-01'

/** A line for the operator, with its facts. */
export interface AcmeLog {
  info(message: string, fields: Record<string, unknown>): void
  warn(message: string, fields: Record<string, unknown>): void
}

/**
 * The account of a service at one CA, which all processes of the service share: its key is stored before it is registered
 * (RFC 8555, 7.3.1), so that there is never a second one.
 */
export interface AcmeAccount {
  /** PKCS#8 in PEM. */
  key: string
  /** Null until it is registered. */
  url: string | null
}

export interface AcmeAccountStore {
  /** The stored account. `AcmeError` when its key cannot be read: it never stands for no account. */
  find(): Promise<AcmeAccount | undefined>
  /** The URL of the stored account, also when its key cannot be read; undefined before it is registered. */
  findUrl(): Promise<string | undefined>
  /** Stores an account with this key durably, unless there is one; returns the stored one. */
  findOrCreate(key: string): Promise<AcmeAccount>
  /** Stores the URL of the registered account durably. */
  setUrl(url: string): Promise<void>
  /** Removes this URL, unless another process has stored another one. */
  forgetUrl(url: string): Promise<void>
}

/**
 * A certificate authority that speaks ACME (RFC 8555), with one account of this service. No call waits longer
 * than its deadline; longer operations are resumed later by the order's URL. Every call can throw
 * `AcmeError`; errors of the store and of `ChallengeSolver` pass through.
 */
export interface Acme {
  /** Whether the CA supports ACME Renewal Information (RFC 9773). */
  supportsRenewalInfo(): Promise<boolean>

  /** The names of the CA in CAA records, empty when it publishes none, and the URL of the account if it is registered. */
  caaIdentity(): Promise<{ identities: readonly string[]; accountUrl: string | undefined }>

  /**
   * Creates an order for these names (RFC 8555, 7.4), with the configured profile if the CA has profiles.
   * `replaces` is the identifier of the previous certificate (RFC 9773, 4.1 and 5); if the CA rejects it, the
   * order is created without it.
   */
  newOrder(names: readonly string[], replaces?: string): Promise<Order>

  /** The order at a stored URL; undefined when the CA does not know it. */
  getOrder(url: string): Promise<Order | undefined>

  /**
   * Completes the authorizations of a pending order (RFC 8555, 7.5): presents each challenge through `solver`,
   * triggers validation, and waits until the order is ready. Presented challenges are removed in any case. A
   * challenge that an earlier process triggered is presented again but not triggered again.
   */
  authorize(order: Order, solver: ChallengeSolver): Promise<Order>

  /**
   * Requests the certificate of a ready order (RFC 8555, 7.4), unless the CA is already processing it, and waits
   * until the order is valid. `csr` is DER (RFC 2986).
   */
  finalize(order: Order, csr: Uint8Array): Promise<Order>

  /** The chain of a valid order as PEM, leaf first (RFC 8555, 7.4.2). */
  download(order: Order): Promise<string>

  /**
   * The suggested renewal window of a certificate (RFC 9773, 4.2); undefined when the CA sends none or an
   * invalid one.
   */
  renewalInfo(certificateId: string): Promise<RenewalInfo | undefined>
}

export interface Order {
  url: string
  status: 'pending' | 'ready' | 'processing' | 'valid' | 'invalid'
  names: readonly string[]
  authorizations: readonly string[]
  finalize: string
  certificate?: string
  /** The CA's error message of an invalid order. */
  problem?: string
}

/**
 * Makes challenges visible to the CA on every node before `present` resolves. That time does not count
 * against a call's deadline. Calls for the same challenge may repeat.
 */
export interface ChallengeSolver {
  /**
   * Challenge types that can be presented for a name, in order of preference; a wildcard (`*.`) allows only
   * DNS-01.
   */
  types(name: string): readonly ChallengeType[]
  present(challenge: ChallengeResponse): Promise<void>
  remove(challenge: ChallengeResponse): Promise<void>
}

export interface ChallengeResponse {
  type: ChallengeType
  /** Without `*.`. */
  name: string
  token: string
  /** RFC 8555, 8.1. */
  keyAuthorization: string
}

/** Milliseconds since 1970. */
export interface RenewalInfo {
  start: number
  end: number
  /** Earliest time of the next request. */
  nextRequestAt: number
}

/**
 * Kinds of CA errors.
 *
 * - `unreachable`: no connection, 5xx, or an invalid response. Not about the name.
 * - `timeout`: the deadline passed; the order can be resumed.
 * - `rate-limited`: 429 or rateLimited; do not retry before `notBefore`.
 * - `challenge-failed`: validation of the name failed; counts against the limit of failed validations.
 * - `rejected`: any other error of the CA.
 */
export type AcmeErrorKind = 'unreachable' | 'timeout' | 'rate-limited' | 'challenge-failed' | 'rejected'

export class AcmeError extends Error {
  override name = 'AcmeError'
  readonly kind: AcmeErrorKind
  /** Milliseconds since 1970 before which the CA must not be contacted again. */
  readonly notBefore: number | undefined
  /** The type of the problem without its prefix (RFC 8555, 6.7), such as `dns` or `caa`. */
  readonly type: string | undefined

  /** The message is shown to the owner of the domain and may quote the CA. */
  constructor(
    kind: AcmeErrorKind,
    message: string,
    details: { notBefore?: number | undefined; type?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: details.cause })
    this.kind = kind
    this.notBefore = details.notBefore
    this.type = details.type
  }
}
