import { isIPv4 } from 'node:net'
import { hostName } from '../../../packages/http-server/host-name.ts'
import { Component } from '../../lib/component.ts'
import type { CacheSlot } from '../../lib/loading-cache.ts'
import { memoize } from '../../lib/memoize.ts'
import { isId } from '../../lib/tokens.ts'
import { isPreviewName } from '../../sites/preview.ts'
import { isSlug } from '../../sites/slug.ts'
import type { UrlBuilder } from '../../sites/urls.ts'

/** `service` is the API with its pages; `unknown` a name below the site domain that no site can have. */
export type Host =
  | { kind: 'service' }
  | { kind: 'site'; slug: string; slot: CacheSlot }
  | { kind: 'version'; slug: string; slot: CacheSlot }
  | { kind: 'domain'; domain: string; slot: CacheSlot }
  | { kind: 'unknown' }

const API_HOST: Host = { kind: 'service' }
const UNKNOWN_HOST: Host = { kind: 'unknown' }

/** Separates a version from the slug; neither contains it. */
const VERSION_SEPARATOR = '--'

/** At most a few megabytes of memory. */
const MEMO_BOUNDS = { maxEntries: 20_000, maxKeyLength: 100 }

const DOMAIN_PATTERN = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/

/** Parses Host headers (contract, "Serving"), ignoring case, port and a trailing dot. */
export class Hosts extends Component<Pick<UrlBuilder, 'base' | 'siteDomain'>> {
  readonly #apiHost = hostName(new URL(this.parts.base).host)
  readonly #siteSuffix = `.${this.parts.siteDomain.toLowerCase()}`
  readonly #parseMemoized = memoize((header) => this.#parse(header), MEMO_BOUNDS)

  /** IP addresses and single labels belong to the service: machines of a local network use them. */
  read(header: string | undefined): Host {
    return header === undefined ? API_HOST : this.#parseMemoized(header)
  }

  isApiHost(header: string): boolean {
    return hostName(header) === this.#apiHost
  }

  #parse(header: string): Host {
    const name = hostName(header)
    if (name === this.#apiHost) return API_HOST
    if (name.endsWith(this.#siteSuffix)) return parseSiteLabel(name.slice(0, -this.#siteSuffix.length))
    if (!name.includes('.') || name.startsWith('[') || isIPv4(name)) return API_HOST
    if (name === this.#siteSuffix.slice(1) || name.length > 253 || !DOMAIN_PATTERN.test(name))
      return UNKNOWN_HOST
    return { kind: 'domain', domain: name, slot: toSlot(name) }
  }
}

function parseSiteLabel(label: string): Host {
  if (isSlug(label)) return { kind: 'site', slug: label, slot: toSlot(label) }
  const [version = '', slug = '', ...others] = label.split(VERSION_SEPARATOR)
  const isVersion = isId(version) || isPreviewName(version)
  return isVersion && isSlug(slug) && others.length === 0
    ? { kind: 'version', slug, slot: toSlot(label) }
    : UNKNOWN_HOST
}

function toSlot(key: string): CacheSlot {
  return { key, entry: undefined }
}
