import { type EntityOf, integer, nullable, oneOf, Table, text } from '../table.ts'
/**
 * Requests that count against the limits of the CA: orders, ARI renewals, which do not count there
 * (`renewal`), certificates for the same names, failed validations; and the end of a requested pause
 * (`pause`).
 */
export const acmeRequestTable = new Table({
  id: text,
  kind: oneOf<'order' | 'renewal' | 'certificate' | 'failure' | 'pause'>(),
  /** Sorted, separated by commas. */
  names: text,
  at: integer,
  /** Of an order: the owner of the name, and its registrable domain; null for the service's own names. */
  accountId: nullable(text),
  root: nullable(text),
})

/**
 * The service's account at a CA (RFC 8555, 7.3): its key is stored before registration, so that there is
 * never a second one.
 */
export const acmeAccountTable = new Table({
  /** URL of the CA's directory. */
  directory: text,
  /** PKCS#8 in PEM, encrypted. */
  key: text,
  /** Null until the account is registered. */
  url: nullable(text),
  createdAt: integer,
})

export type AcmeAccount = EntityOf<typeof acmeAccountTable>

export type ChallengeType = 'http-01' | 'tls-alpn-01' | 'dns-01'

/** A challenge that any node can respond to (RFC 8555, 8.3; RFC 8737). */
export const acmeChallengeTable = new Table({
  type: oneOf<Exclude<ChallengeType, 'dns-01'>>(),
  name: text,
  token: text,
  /** RFC 8555, 8.1. */
  keyAuthorization: text,
  /** Milliseconds since 1970. */
  expiresAt: integer,
})

export type StoredChallenge = EntityOf<typeof acmeChallengeTable>

/**
 * A request that counts against the limits of the CA: an order, an ARI renewal, which does not count there
 * (`renewal`), a certificate for the same names, a failed validation; or the end of a requested pause
 * (`pause`).
 */
export interface CountedRequest {
  id: string
  kind: 'order' | 'renewal' | 'certificate' | 'failure' | 'pause'
  /** A set: their order does not matter. Empty for a pause. */
  names: readonly string[]
  /** Milliseconds since 1970. */
  at: number
  /** Of an order: the owner of the name, and its registrable domain; null for the service's own names. */
  accountId: string | null
  root: string | null
}

/** The account and the registrable domain of an order. */
type Owner = Pick<CountedRequest, 'accountId' | 'root'>

/** Selects requests: with `names` only those for exactly this set, with `accountId` or `root` only their orders. */
export type CountedRequestFilter = Pick<CountedRequest, 'kind'> &
  Partial<Pick<CountedRequest, 'names'> & { accountId: string; root: string }>

/** State of the ACME client, shared by all nodes. */
export interface AcmeQueries {
  account(directory: string): Promise<AcmeAccount | undefined>

  /** The directories with an account, in no order. */
  directories(): Promise<string[]>

  /** Returns the account at its directory; stores this one if there is none. */
  getOrCreateAccount(account: AcmeAccount): Promise<AcmeAccount>

  /** Stores the key of an account in another encryption. An absent account is ignored. */
  setAccountKey(directory: string, key: string): Promise<void>

  /** Null for an account that has to be registered again. An absent account is ignored. */
  setAccountUrl(directory: string, url: string | null): Promise<void>

  /** Stores a challenge, and replaces one with the same type, name and token. */
  putChallenge(challenge: StoredChallenge): Promise<void>

  /** The challenges of all names that expire after `now`, the last to expire first. */
  challenges(type: StoredChallenge['type'], now: number): Promise<StoredChallenge[]>

  /** Deletes all challenges of a name. */
  deleteChallenges(name: string): Promise<void>

  /** Deletes challenges that expire at `now` or earlier; returns their number. */
  deleteExpiredChallenges(now: number): Promise<number>

  /** Counts a request. Idempotent: a request with a known id changes nothing. */
  countRequest(request: Omit<CountedRequest, keyof Owner> & Partial<Owner>): Promise<void>

  /**
   * The time of the `count`th newest of these requests after `since`, from 1; undefined when there are fewer.
   */
  nthLatestRequest(filter: CountedRequestFilter, count: number, since: number): Promise<number | undefined>

  /** Deletes requests from before that time; returns their number. */
  deleteRequests(before: number): Promise<number>
}
