import type { MadeSite } from './site-content.ts'

/** What a site must serve: exactly this version, or no site (null). */
export type State = MadeSite | null

/**
 * An event between a client and the server. A request is logged before it is sent; its outcome is unknown until the
 * next fact about its site or account.
 */
export type Fact =
  | { kind: 'key request'; email: string }
  | { kind: 'key'; email: string; key: string }
  | { kind: 'site'; slug: string; email?: string | undefined; claimToken?: string | undefined }
  | { kind: 'change request'; slug: string; state: State }
  | { kind: 'live'; slug: string; versionId: string; state: MadeSite }
  | { kind: 'deleted'; slug: string }
  /** A version finalized without becoming live. */
  | { kind: 'draft'; slug: string; versionId: string; state: MadeSite }
  /** A version with all files uploaded, not finalized. */
  | { kind: 'unfinalized'; slug: string; versionId: string; state: MadeSite }
  /** An error response to a valid request. */
  | { kind: 'refusal'; status: number; sentence: string }

export interface KnownSite {
  slug: string
  /** Account of the owner; undefined while the site is anonymous. */
  email: string | undefined
  claimToken: string | undefined
  /** The last acknowledged state. */
  state: State
  /** A state requested since then, without a response. */
  requested: State | undefined
  /** Acknowledged finalized versions by id; the server keeps the newest. */
  versions: Map<string, MadeSite>
  /** Acknowledged state changes. */
  changes: number
}

export interface KnownAccount {
  key: string | undefined
  /** Keys that a later key replaced. */
  revoked: string[]
  /** A new key was requested without a response: the last one may be revoked. */
  keyUncertain: boolean
}

export interface UnfinalizedVersion {
  slug: string
  versionId: string
  state: MadeSite
}

/** All acknowledgments that clients received, and their requests without a response. */
export class AckLog {
  readonly sites = new Map<string, KnownSite>()
  readonly accounts = new Map<string, KnownAccount>()
  readonly refusals: Extract<Fact, { kind: 'refusal' }>[] = []
  unfinalized: UnfinalizedVersion[] = []
  /** Sites and accounts with facts since the last verification, which empties these sets. */
  touched = new Set<KnownSite>()
  touchedAccounts = new Set<string>()
  /** Facts that a response of the server confirms. */
  acknowledged = 0
  readonly #keep: (line: string) => void

  /** `keep` receives each fact as a line before `add` returns. */
  constructor(keep: (line: string) => void = () => undefined) {
    this.#keep = keep
  }

  /** Restores a log from its lines; ignores a truncated last line. */
  static read(text: string): AckLog {
    const ackLog = new AckLog()
    const lines = text.split('\n')
    for (const line of lines.slice(0, -1)) ackLog.add(JSON.parse(line) as Fact)
    return ackLog
  }

  add(fact: Fact): void {
    this.#keep(`${JSON.stringify(fact)}\n`)
    this.#apply(fact)
    if (!['change request', 'key request', 'refusal'].includes(fact.kind)) this.acknowledged++
  }

  /** Sets the state of a site whose state was uncertain. */
  resolve(slug: string, state: State): void {
    const site = this.sites.get(slug)!
    site.state = state
    site.requested = undefined
    site.changes++
    if (state === null) site.versions.clear()
  }

  #apply(fact: Fact): void {
    switch (fact.kind) {
      case 'key request':
        this.#account(fact.email).keyUncertain = true
        return
      case 'key': {
        const account = this.#account(fact.email)
        if (account.key !== undefined) account.revoked.push(account.key)
        account.key = fact.key
        account.keyUncertain = false
        return
      }
      case 'refusal':
        this.refusals.push(fact)
        return
      case 'site':
        this.#site(fact)
        return
    }
    const site = this.sites.get(fact.slug)!
    this.touched.add(site)
    this.#applyToSite(site, fact)
  }

  #applyToSite(
    site: KnownSite,
    fact: Exclude<Fact, { kind: 'key' | 'key request' | 'refusal' | 'site' }>,
  ): void {
    switch (fact.kind) {
      case 'change request':
        site.requested = fact.state
        return
      case 'deleted':
        this.resolve(site.slug, null)
        return
      case 'unfinalized':
        this.unfinalized.push({ slug: fact.slug, versionId: fact.versionId, state: fact.state })
        return
      case 'live':
        this.resolve(site.slug, fact.state)
    }
    site.versions.set(fact.versionId, fact.state)
    this.unfinalized = this.unfinalized.filter((one) => one.versionId !== fact.versionId)
  }

  #account(email: string): KnownAccount {
    this.touchedAccounts.add(email)
    const known = this.accounts.get(email)
    if (known) return known
    const account: KnownAccount = { key: undefined, revoked: [], keyUncertain: false }
    this.accounts.set(email, account)
    return account
  }

  #site({ slug, email, claimToken }: Extract<Fact, { kind: 'site' }>): void {
    const known = this.sites.get(slug)
    if (known) known.email = email
    else
      this.sites.set(slug, {
        slug,
        email,
        claimToken,
        state: null,
        requested: undefined,
        versions: new Map(),
        changes: 0,
      })
  }
}
