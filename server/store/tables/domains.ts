import { type EntityOf, flag, integer, json, key, nullable, oneOf, Table, text } from '../table.ts'

/** A name that an account has or has requested for a site: several accounts may have it pending, one active. */
export const domainTable = new Table({
  domain: key(text),
  accountId: key(text),
  slug: text,
  status: oneOf<'pending' | 'active'>(),
  /** Required value of the TXT record; random for each account and domain. */
  verificationToken: text,
  /** Why it is pending, or its current problem, as a message. */
  reason: nullable(text),
  createdAt: integer,
  verifiedAt: nullable(integer),
  checkedAt: nullable(integer),
  /** Start of the pending time, which determines the check interval; null when it is active. */
  pendingSince: nullable(integer),
  /** The root domain of this `www`, or the `www` of it, to which it redirects; null for a name that serves the site. */
  primaryDomain: nullable(text),
  findings: nullable(json<DnsFindings>()),
  /** Since when all checks have found both records; null when the last one did not. */
  provenSince: nullable(integer),
  /** Since when an active name does not point here; null when the last check found that it does. */
  failingSince: nullable(integer),
  /** Time of the next check; null when only the owner can trigger it. */
  nextCheckAt: nullable(integer),
  /** Whether the last check took long: such names must not delay others. */
  isSlow: flag,
  /** Until then a node checks it; null when the next check is planned. */
  checkingUntil: nullable(integer),
})

export const domainFields = domainTable.omit('checkingUntil')

export type Domain = EntityOf<typeof domainFields>

/** A pending name. Due immediately: the records of an earlier owner may still exist. */
export function newDomain(
  given: Pick<Domain, 'domain' | 'accountId' | 'slug' | 'verificationToken' | 'createdAt' | 'primaryDomain'>,
): Domain {
  const { createdAt } = given
  const pending = { status: 'pending', pendingSince: createdAt, nextCheckAt: createdAt } as const
  return { ...domainFields.nulls, ...given, ...pending, isSlow: false }
}

/** What DNS returned; null where the lookup failed. */
export interface DnsFindings {
  /** The alias targets, or the addresses. */
  pointing: string[] | null
  texts: string[] | null
  right: { pointing: boolean | null; text: boolean | null }
}

/** A deleted active name: until then only that account can add it again, with the same token. */
export const reservationTable = new Table({
  domain: key(text),
  accountId: text,
  verificationToken: text,
  until: integer,
})

export type DomainReservation = EntityOf<typeof reservationTable>
