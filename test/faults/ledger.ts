import type { MadeSite } from './site-content.ts'

/** What visitors of a site must find: this version and nothing else, or no site at all. */
export type State = MadeSite | null

/**
 * One thing that happened between a client and the service. A `wish` is noted before it is asked for and holds until
 * the next fact about its site or account: whether it came true is unknown while no answer says so.
 */
export type Fact =
  | { kind: 'wish for a key'; email: string }
  | { kind: 'key'; email: string; key: string }
  | { kind: 'site'; slug: string; email?: string | undefined; claimToken?: string | undefined }
  | { kind: 'wish'; slug: string; state: State }
  | { kind: 'live'; slug: string; versionId: string; state: MadeSite }
  | { kind: 'deleted'; slug: string }
  /** A version that was finalized without going live. */
  | { kind: 'draft'; slug: string; versionId: string; state: MadeSite }
  /** A version whose files were all uploaded, and that was not finalized. */
  | { kind: 'waiting'; slug: string; versionId: string; state: MadeSite }
  /** An answer that says no, to somebody who asked for nothing wrong. */
  | { kind: 'surprise'; status: number; sentence: string }

export interface KnownSite {
  slug: string
  /** Whose it is; undefined while it is anonymous. */
  email: string | undefined
  claimToken: string | undefined
  /** What was acknowledged last. */
  state: State
  /** What was asked for since and not answered. */
  wish: State | undefined
  /** Finalized versions that were acknowledged, by id; the service keeps the newest of them. */
  versions: Map<string, MadeSite>
  /** How often it was acknowledged to be another. */
  changes: number
}

export interface KnownAccount {
  key: string | undefined
  /** Keys that a later one ended. */
  ended: string[]
  /** A new key was asked for: whether the last one still works is unknown. */
  unsure: boolean
}

export interface Waiting {
  slug: string
  versionId: string
  state: MadeSite
}

/** Everything that clients were told, and what they had asked for when they were told nothing more. */
export class AckLog {
  readonly sites = new Map<string, KnownSite>()
  readonly accounts = new Map<string, KnownAccount>()
  readonly surprises: Extract<Fact, { kind: 'surprise' }>[] = []
  waiting: Waiting[] = []
  /** Sites and accounts of which there were facts since whoever looks at them emptied these. */
  touched = new Set<KnownSite>()
  touchedAccounts = new Set<string>()
  /** How many facts an answer of the service stands for. */
  acknowledged = 0
  readonly #keep: (line: string) => void

  /** Each fact is given to `keep` as a line, before `add` returns. */
  constructor(keep: (line: string) => void = () => undefined) {
    this.#keep = keep
  }

  /** The ledger that these lines were kept of; a last line that was cut off is passed over. */
  static read(text: string): AckLog {
    const ledger = new AckLog()
    const lines = text.split('\n')
    for (const line of lines.slice(0, -1)) ledger.add(JSON.parse(line) as Fact)
    return ledger
  }

  add(fact: Fact): void {
    this.#keep(`${JSON.stringify(fact)}\n`)
    this.#apply(fact)
    if (!['wish', 'wish for a key', 'surprise'].includes(fact.kind)) this.acknowledged++
  }

  /** What a site was found to be, where that was in doubt. */
  settle(slug: string, state: State): void {
    const site = this.sites.get(slug)!
    site.state = state
    site.wish = undefined
    site.changes++
    if (state === null) site.versions.clear()
  }

  #apply(fact: Fact): void {
    switch (fact.kind) {
      case 'wish for a key':
        this.#account(fact.email).unsure = true
        return
      case 'key': {
        const account = this.#account(fact.email)
        if (account.key !== undefined) account.ended.push(account.key)
        account.key = fact.key
        account.unsure = false
        return
      }
      case 'surprise':
        this.surprises.push(fact)
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
    fact: Exclude<Fact, { kind: 'key' | 'wish for a key' | 'surprise' | 'site' }>,
  ): void {
    switch (fact.kind) {
      case 'wish':
        site.wish = fact.state
        return
      case 'deleted':
        this.settle(site.slug, null)
        return
      case 'waiting':
        this.waiting.push({ slug: fact.slug, versionId: fact.versionId, state: fact.state })
        return
      case 'live':
        this.settle(site.slug, fact.state)
    }
    site.versions.set(fact.versionId, fact.state)
    this.waiting = this.waiting.filter((one) => one.versionId !== fact.versionId)
  }

  #account(email: string): KnownAccount {
    this.touchedAccounts.add(email)
    const known = this.accounts.get(email)
    if (known) return known
    const account: KnownAccount = { key: undefined, ended: [], unsure: false }
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
        wish: undefined,
        versions: new Map(),
        changes: 0,
      })
  }
}
