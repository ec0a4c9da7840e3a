/**
 * A certificate authority that speaks ACME (RFC 8555), with one account of this service. No call waits longer than its
 * deadline: what takes longer is asked for again later, by the order's address. Every call can throw `AcmeFailure`; what
 * the store or `Proofs` throw is passed on.
 */
export interface Acme {
  /** Whether the CA has renewal information (RFC 9773). */
  hasRenewalInformation(): Promise<boolean>

  /**
   * A new order for these names (RFC 8555, 7.4), with the profile that was set unless the CA has none at all. `replaces` is
   * the identifier of the certificate before (RFC 9773, 4.1 and 5); a CA that does not want it is asked without.
   */
  order(names: readonly string[], replaces?: string): Promise<Order>

  /** The order at an address that was kept; undefined when the CA no longer knows it, or never did. */
  resume(url: string): Promise<Order | undefined>

  /**
   * Proves every name of a pending order: hands each challenge to `proofs`, asks the CA to look, and waits until the
   * order is ready. What was handed to `proofs` is taken away however it ends. A challenge that was answered before, by a
   * process that is gone, is shown again and not answered again.
   */
  prove(order: Order, proofs: Proofs): Promise<Order>

  /**
   * Asks for the certificate of a ready order, unless the CA is at it (`processing`), and waits until the order is valid.
   * `csr` is DER (RFC 2986).
   */
  finalize(order: Order, csr: Uint8Array): Promise<Order>

  /** The chain of a valid order: PEM, leaf first, nothing else. */
  download(order: Order): Promise<string>

  /** When the CA wants a certificate renewed (RFC 9773, 4.2); undefined when it does not say, or nothing that makes sense. */
  renewalInformation(certificateId: string): Promise<RenewalInformation | undefined>
}

export interface Order {
  url: string
  status: 'pending' | 'ready' | 'processing' | 'valid' | 'invalid'
  names: readonly string[]
  authorizations: readonly string[]
  finalize: string
  certificate?: string
  /** Why it is invalid, in the CA's words. */
  problem?: string
}

/**
 * Shows the CA what it looks for, from every node, before `present` resolves; how long that takes is not counted in a call's
 * deadline. Calls for the same proof may repeat.
 */
export interface Proofs {
  /** Which types can be shown for a name, the preferred one first; of a wildcard (`*.`) only DNS-01 counts. */
  types(name: string): readonly ChallengeType[]
  present(proof: Proof): Promise<void>
  remove(proof: Proof): Promise<void>
}

export type ChallengeType = 'http-01' | 'tls-alpn-01' | 'dns-01'

export interface Proof {
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
  /** When to ask again. */
  askAgainAt: number
}

/**
 * Why the CA did not do it.
 *
 * - `away`: not reached, 5xx, or an answer that makes no sense. Says nothing about the name.
 * - `limited`: 429 or rateLimited; not before `notBefore`.
 * - `failed`: it looked at the name and did not find the proof: counts against the limit of failures.
 * - `refused`: anything else that it said no to.
 * - `slow`: the deadline passed; the order is to be resumed.
 */
export type AcmeTrouble = 'away' | 'limited' | 'failed' | 'refused' | 'slow'

export class AcmeFailure extends Error {
  override name = 'AcmeFailure'
  readonly trouble: AcmeTrouble
  /** Milliseconds since 1970: the CA asked not to come back earlier. */
  readonly notBefore: number | undefined
  /** The type of the problem without its prefix (RFC 8555, 6.7), such as `dns` or `caa`. */
  readonly type: string | undefined

  /** `sentence` is for the owner of the domain; it may quote the CA. */
  constructor(
    trouble: AcmeTrouble,
    sentence: string,
    more: { notBefore?: number | undefined; type?: string | undefined; cause?: unknown } = {},
  ) {
    super(sentence, { cause: more.cause })
    this.trouble = trouble
    this.notBefore = more.notBefore
    this.type = more.type
  }
}
