import { isIPv4 } from 'node:net'
import type { Addresses } from '../address.ts'
import type { Whereabouts } from '../memory/remembered.ts'
import { isSlug } from '../slug.ts'

/**
 * Whom a Host header asks for. `service` is the API and its pages; `nobody` a name that belongs to sites, but
 * that no site can have.
 */
export type Host =
  | { kind: 'service' }
  | { kind: 'site'; slug: string; at: Whereabouts }
  | { kind: 'version'; slug: string; versionId: string }
  | { kind: 'domain'; domain: string }
  | { kind: 'nobody' }

const SERVICE: Host = { kind: 'service' }
const NOBODY: Host = { kind: 'nobody' }

/** An id of `newId`, two hyphens, and the slug; a slug has no two hyphens in a row. */
const VERSION_LABEL = /^([0-9abcdefghjkmnpqrstvwxyz]{26})--(.+)$/

/** Headers whose meaning is remembered: some megabytes at most. */
const MOST_KNOWN = 20_000
const LONGEST = 100

const DOMAIN = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/

/** Reads Host headers (contract, "Serving"): without regard to case, port and a trailing dot. */
export class Hosts {
  readonly #own: string
  readonly #below: string
  readonly #known = new Map<string, Host>()

  constructor(addresses: Addresses) {
    this.#own = hostName(new URL(addresses.base).host)
    this.#below = `.${addresses.siteDomain.toLowerCase()}`
  }

  /** Addresses and single labels are the service's: they are how machines of one network reach each other. */
  read(header: string | undefined): Host {
    if (header === undefined) return SERVICE
    const known = this.#known.get(header)
    if (known) return known
    const host = this.#parse(header)
    if (header.length > LONGEST) return host
    if (this.#known.size >= MOST_KNOWN) this.#known.clear()
    this.#known.set(header, host)
    return host
  }

  /** Whether it is the name of {base_url}, and no other that reaches the service. */
  isOwn(header: string): boolean {
    return hostName(header) === this.#own
  }

  #parse(header: string): Host {
    const name = hostName(header)
    if (name === this.#own) return SERVICE
    if (name.endsWith(this.#below)) return labelled(name.slice(0, -this.#below.length))
    if (!name.includes('.') || name.startsWith('[') || isIPv4(name)) return SERVICE
    if (name === this.#below.slice(1) || name.length > 253 || !DOMAIN.test(name)) return NOBODY
    return { kind: 'domain', domain: name }
  }
}

/** The name in a Host header or an authority, in the one form that names are compared in. */
export function hostName(header: string): string {
  return header.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
}

function labelled(label: string): Host {
  if (isSlug(label)) return { kind: 'site', slug: label, at: {} }
  const [, versionId, slug] = VERSION_LABEL.exec(label) ?? []
  return versionId && slug && isSlug(slug) ? { kind: 'version', slug, versionId } : NOBODY
}
