/** A name that an account has or has requested for a site: several accounts may have it pending, one active. */
export interface Domain {
  domain: string
  accountId: string
  slug: string
  status: 'pending' | 'active'
  /** Required value of the TXT record; random for each account and domain. */
  verificationToken: string
  /** Why it is pending, or its current problem, as a message. */
  reason: string | null
  createdAt: number
  verifiedAt: number | null
  checkedAt: number | null
  /** Start of the pending time, which determines the check interval; null when it is active. */
  pendingSince: number | null
  /**
   * The `www` of this root domain, or the root domain of this `www`, to which visitors are redirected; null
   * for a name that serves the site.
   */
  primaryDomain: string | null
  /** What DNS returned at the last check. */
  findings: DnsFindings | null
  /** Since when all checks have found both records; null when the last one did not. */
  provenSince: number | null
  /** Since when an active name does not point here; null when the last check found that it does. */
  failingSince: number | null
  /** Time of the next check; null when only the owner can trigger it. */
  nextCheckAt: number | null
  /** Whether the last check took long: such names must not delay others. */
  isSlow: boolean
}

/** What DNS returned; null where the lookup failed. */
export interface DnsFindings {
  /** The alias targets, or the addresses. */
  pointing: string[] | null
  texts: string[] | null
  /** Whether each record has the required value; null where the lookup failed. */
  right: { pointing: boolean | null; text: boolean | null }
}

/** A deleted active name: until then only that account can add it again, with the same token. */
export interface DomainReservation {
  domain: string
  accountId: string
  verificationToken: string
  until: number
}

/**
 * Domains and reservations. A second active account for a name rejects. A change of an absent domain changes
 * nothing.
 */
export interface DomainQueries {
  /** By time of creation, then by name. */
  byAccount(accountId: string): Promise<Domain[]>

  /** Domains of several accounts, each account's in the order of `byAccount`. */
  byAccounts(accountIds: readonly string[]): Promise<Domain[]>

  /** By name. */
  bySite(slug: string): Promise<Domain[]>

  find(accountId: string, domain: string): Promise<Domain | undefined>

  /** The domain of the account that has the name; its `primaryDomain` may be active or not. */
  active(domain: string): Promise<Domain | undefined>

  /** The account's name that redirects to `primary`, if there is one. */
  secondary(accountId: string, primary: string): Promise<Domain | undefined>

  /**
   * Claims names due at `now`, the longest due first: until that time, or until their next check is planned, no other
   * call returns them. One statement. Concurrent calls may return fewer names than are due.
   */
  claimDue(now: number, options: { limit: number; slow: boolean; until: number }): Promise<Domain[]>

  /** Number of domains counted against the plan: a root domain and its `www` are one. */
  count(accountId: string): Promise<number>

  insert(domain: Domain): Promise<void>

  /** Properties that are absent stay. */
  update(
    key: Pick<Domain, 'accountId' | 'domain'>,
    change: Partial<Omit<Domain, 'accountId' | 'domain'>>,
  ): Promise<void>

  /** Returns whether the domain existed. */
  remove(accountId: string, domain: string): Promise<boolean>

  removeOfSite(slug: string): Promise<void>

  /** The account for which a deleted name is reserved at `now`. */
  reservation(domain: string, now: number): Promise<DomainReservation | undefined>

  countReservations(accountId: string, now: number): Promise<number>

  /** Reserves a name and replaces an earlier reservation. */
  reserve(reservation: DomainReservation): Promise<void>

  releaseReservation(domain: string): Promise<void>

  /** Deletes all reservations of an account. */
  releaseReservations(accountId: string): Promise<void>

  /** Returns their number. */
  deleteExpiredReservations(now: number): Promise<number>
}
