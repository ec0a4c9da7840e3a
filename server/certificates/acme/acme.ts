/**
 * A certificate authority that speaks ACME (RFC 8555), with one account of this service. No call waits longer
 * than its deadline; longer operations are resumed later by the order's URL. Every call can throw
 * `AcmeError`; errors of the store and of `ChallengeSolver` pass through.
 */
export interface Acme {
  /** Whether the CA supports ACME Renewal Information (RFC 9773). */
  hasRenewalInformation(): Promise<boolean>

  /**
   * Creates an order for these names (RFC 8555, 7.4), with the configured profile if the CA has profiles.
   * `replaces` is the identifier of the previous certificate (RFC 9773, 4.1 and 5); if the CA rejects it, the
   * order is created without it.
   */
  order(names: readonly string[], replaces?: string): Promise<Order>

  /** The order at a stored URL; undefined when the CA does not know it. */
  resume(url: string): Promise<Order | undefined>

  /**
   * Proves every name of a pending order: presents each challenge through `proofs`, triggers validation, and
   * waits until the order is ready. Presented challenges are removed in any case. A challenge that an earlier
   * process triggered is presented again but not triggered again.
   */
  prove(order: Order, proofs: ChallengeSolver): Promise<Order>

  /**
   * Requests the certificate of a ready order, unless the CA is already processing it, and waits until the
   * order is valid. `csr` is DER (RFC 2986).
   */
  finalize(order: Order, csr: Uint8Array): Promise<Order>

  /** The chain of a valid order as PEM, leaf first. */
  download(order: Order): Promise<string>

  /**
   * The suggested renewal window of a certificate (RFC 9773, 4.2); undefined when the CA sends none or an
   * invalid one.
   */
  renewalInformation(certificateId: string): Promise<RenewalInformation | undefined>
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
  present(proof: ChallengeResponse): Promise<void>
  remove(proof: ChallengeResponse): Promise<void>
}

export type ChallengeType = 'http-01' | 'tls-alpn-01' | 'dns-01'

export interface ChallengeResponse {
  type: ChallengeType
  /** Without `*.`. */
  name: string
  token: string
  /** RFC 8555, 8.1. */
  keyAuthorization: string
}

/** Milliseconds since 1970. */
export interface RenewalInformation {
  start: number
  end: number
  explanation?: string
  /** Earliest time of the next request. */
  askAgainAt: number
}

/**
 * Kinds of CA errors.
 *
 * - `away`: unreachable, 5xx, or an invalid response. Says nothing about the name.
 * - `limited`: 429 or rateLimited; do not retry before `notBefore`.
 * - `failed`: validation of the name failed; counts against the limit of failed validations.
 * - `refused`: any other rejection.
 * - `slow`: the deadline passed; the order can be resumed.
 */
export type AcmeErrorKind = 'away' | 'limited' | 'failed' | 'refused' | 'slow'

export class AcmeError extends Error {
  override name = 'AcmeFailure'
  readonly kind: AcmeErrorKind
  /** Milliseconds since 1970 before which the CA must not be contacted again. */
  readonly notBefore: number | undefined
  /** The type of the problem without its prefix (RFC 8555, 6.7), such as `dns` or `caa`. */
  readonly type: string | undefined

  /** `sentence` is shown to the owner of the domain and may quote the CA. */
  constructor(
    trouble: AcmeErrorKind,
    sentence: string,
    more: { notBefore?: number | undefined; type?: string | undefined; cause?: unknown } = {},
  ) {
    super(sentence, { cause: more.cause })
    this.kind = trouble
    this.notBefore = more.notBefore
    this.type = more.type
  }
}
