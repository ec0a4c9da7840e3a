import type { Call } from '../caller-address.ts'
import { inNfc } from '../nfc.ts'
import { MOST, type Name, type NameKind, type SiteCounts, Tally } from '../visits/batch.ts'
import type { Bookkeeping } from '../visits/bookkeeping.ts'
import type { Answer } from './answer.ts'
import type { Asked } from './asked.ts'
import { hostName } from './host.ts'
import type { Site } from './memory/places.ts'
import { spelled } from './names.ts'
import type { Visitor } from './visitor.ts'

interface CountingOptions {
  book: Bookkeeping
  addressOf: (call: Call) => string
  siteDomain: string
}

/**
 * Counts what visitors of sites were answered. It has a few hundredths of the time of an answer: the same answer at the same
 * path for the same visitor is one addition.
 */
export class Counting {
  readonly #book: Bookkeeping
  readonly #addressOf: (call: Call) => string
  readonly #siteDomain: string

  constructor({ book, addressOf, siteDomain }: CountingOptions) {
    this.#book = book
    this.#addressOf = addressOf
    this.#siteDomain = siteDomain
  }

  /** What is asked at `now` of a site is a visit of it. */
  attend(asked: Asked, site: Site, now: number): void {
    this.#book.turn(now)
    asked.site = site
  }

  /** Counts an answer that is sent to a visit of `asked.site`. */
  count(asked: Asked, answer: Answer, visitor: Visitor): void {
    const { tally } = answer
    if (
      tally === undefined ||
      tally.path !== asked.target.path ||
      tally.counts.batch !== this.#book.batch ||
      tally.counts.slug !== asked.site!.slug ||
      asked.head === true
    ) {
      this.#look(asked, answer, visitor)
    } else {
      tally.requests++
      visitor.turn(tally.counts, asked.headers)
      if (tally.isPage) this.#meet(asked, visitor)
    }
  }

  #look(asked: Asked, answer: Answer, visitor: Visitor): void {
    const { head = false, site } = asked
    const counts = this.#book.site(site!.slug)
    if (!counts) return
    const isPage = answer.isPage === true && !head
    visitor.turn(counts, asked.headers)
    if (isPage) this.#meet(asked, visitor)
    const { path } = asked.target
    const bytes = head ? 0 : bytesOf(answer)
    const name = nameOf(counts, answer, path)
    if (isShort(asked) && this.#hang(answer, { counts, path, name, bytes, isPage })) return
    counts.requests++
    counts.bytes += bytes
    if (name) name.requests++
  }

  /** Somebody reads a page. */
  #meet(asked: Asked, visitor: Visitor): void {
    if (!visitor.isMet) this.#welcome(asked, visitor)
    if (visitor.referrer !== undefined) visitor.referrer.requests++
  }

  #welcome({ headers, host }: Asked, visitor: Visitor): void {
    const counts = visitor.counts!
    visitor.isMet = true
    counts.meet(visitor.self(this.#addressOf))
    if (headers.referer === undefined) return
    const from = refererHost(headers.referer)
    if (from === undefined || from === hostName(host) || this.#isOf(counts.slug, from)) return
    visitor.referrer = counts.name('referrer', from)
  }

  /** Whether a host is a site's own, or that of one of its versions. */
  #isOf(slug: string, host: string): boolean {
    const own = `${slug}.${this.#siteDomain}`
    return host === own || host.endsWith(`--${own}`)
  }

  /** Counts an answer where the next one like it is found at once; false when there are too many already. */
  #hang(answer: Answer, of: ConstructorParameters<typeof Tally>[0]): boolean {
    const known = answer.tally
    const tally = known ?? new Tally(of)
    if (!of.counts.batch.admits(tally)) return false
    tally.point(of)
    answer.tally = tally
    tally.requests = 1
    return true
  }
}

/** Whether it is asked for in few words: an answer that holds on to its path may hold on to the query with it. */
function isShort({ head, target: { path, query } }: Asked): boolean {
  return head !== true && path.length + query.length <= MOST.name
}

/** Where it is counted what was asked for; redirects and refusals are in the totals only. */
function nameOf(counts: SiteCounts, { status }: Answer, path: string): Name | undefined {
  const kind: NameKind | undefined =
    status === 200 || status === 206 || status === 304 ? 'path' : status === 404 ? 'missing' : undefined
  if (kind === undefined) return undefined
  const name = shownPath(path)
  return name === undefined ? undefined : counts.name(kind, name)
}

/** A path as people read it, and as it was published. What they could not read stays percent-encoded. */
function shownPath(path: string): string | undefined {
  const spelling = spelled(path)
  if (!spelling?.includes('%')) return spelling
  const name = inNfc(decodeURI(spelling))
  if (!UNREADABLE.test(name)) return name
  // `spelled` makes a null byte of an encoded slash; scanners send the one far more often than the other.
  return ENCODED_SLASH.test(path) ? spelling.replaceAll('%00', '%2F') : spelling
}

const ENCODED_SLASH = /%2f/i

const UNREADABLE = /[\p{C}\p{Zl}\p{Zp}]/u

function bytesOf({ body, content }: Answer): number {
  if (!content) return body?.length ?? 0
  const { range, size } = content
  return range ? range.end - range.start + 1 : size
}

/** The host of a page; nothing of its path or of who was signed in there. */
export function refererHost(referer: string): string | undefined {
  const [, authority = ''] = /^https?:\/\/([^/?#\\]+)/i.exec(referer.slice(0, MOST_REFERER)) ?? []
  const host = hostName(authority.slice(authority.lastIndexOf('@') + 1))
  return HOST.test(host) ? host : undefined
}

const MOST_REFERER = 500
const HOST = /^(?=.{1,100}$)[a-z\d](?:[a-z\d.-]*[a-z\d])?$/
