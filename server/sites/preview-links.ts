import type { PreviewLink } from '../../protocol/api/versions.schema.ts'
import { requireAccess } from '../accounts/authorization.ts'
import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import { MINUTE_MS, toIso } from '../lib/time.ts'
import { constantTimeEqual, decodeTime, encodeBits, encodeTime, type Secrets, Signer } from '../lib/tokens.ts'
import type { Parts } from '../parts.ts'
import type { Account } from '../store/tables/accounts.ts'
import type { Site } from '../store/tables/sites.ts'
import { requireFinalized, requireVersion } from './version.ts'

const LIFETIME_MS = 10 * MINUTE_MS

/** As long as a version id, in whose place it stands; an id begins with the time and therefore with a digit. */
const TOKEN = /^[yz]([0-9a-hjkmnp-tv-z]{7})[0-9a-hjkmnp-tv-z]{18}$/

/** The first character of a token, and what its key is derived for. */
const KINDS = {
  link: { prefix: 'z', purpose: 'preview links' },
  review: { prefix: 'y', purpose: 'review grants' },
}

/** All links end when the password changes, or the key, such as when a collaborator loses access. */
interface PreviewClaims extends Pick<Site, 'slug' | 'passwordHash' | 'reviewKey'> {
  versionId: string
}

/** The labels of preview hosts are `<token>--<slug>`. A host works in frames, without cookies. */
export class PreviewTokens extends Component<{ secret: Secrets; kind: keyof typeof KINDS }> {
  readonly #kind = KINDS[this.parts.kind]
  readonly #signer = new Signer(this.parts.secret, this.#kind.purpose)

  /** `until` is in milliseconds since 1970, rounded down to seconds. */
  sign(claims: PreviewClaims, until: number): string {
    return this.#tokens(claims, until)[0]!
  }

  verify(token: string, claims: PreviewClaims): boolean {
    const until = readPreviewExpiry(token)
    return until !== undefined && this.#tokens(claims, until).some((valid) => constantTimeEqual(valid, token))
  }

  /** The tokens of all accepted secrets, that of the current one first. */
  #tokens({ slug, passwordHash, versionId, reviewKey }: PreviewClaims, until: number): string[] {
    const seconds = Math.floor(until / 1000)
    const macs = this.#signer.signAll([slug, passwordHash ?? '', versionId, seconds, reviewKey ?? ''])
    return macs.map(
      (mac) =>
        `${this.#kind.prefix}${encodeTime(seconds, 7)}${encodeBits(Buffer.from(mac, 'base64url'), 18)}`,
    )
  }
}

/** Whether a valid token of this form shows a version in a review. */
export function isReviewGrant(token: string): boolean {
  return token.startsWith(KINDS.review.prefix)
}

/** When a preview token ends, in milliseconds since 1970; undefined for other texts, such as a version id. */
export function readPreviewExpiry(token: string): number | undefined {
  const [, time] = TOKEN.exec(token) ?? []
  return time === undefined ? undefined : decodeTime(time) * 1000
}

type PreviewLinksParts = Pick<Parts, 'store' | 'addresses' | 'clock'> & { tokens: PreviewTokens }

/** Show a site to its owner and its collaborators without its password. */
export class PreviewLinks extends Component<PreviewLinksParts> {
  /** Leads to the live version without `versionId`; works for 10 minutes. */
  async create(account: Account, slug: string, versionId?: string): Promise<PreviewLink> {
    const { store, addresses, tokens, clock } = this.parts
    const now = clock()
    const site = await requireAccess(store.read, 'read', { slug, account, now })
    const id = versionId ?? site.liveVersionId
    if (id === null) throw new ApiError('SITE_PENDING', 'This site has no live version yet')
    requireFinalized(requireVersion(await store.read.versions.header(id), slug))
    const until = Math.floor((now + LIFETIME_MS) / 1000) * 1000
    const { passwordHash, reviewKey } = site
    const token = tokens.sign({ slug, passwordHash, reviewKey, versionId: id }, until)
    return { url: addresses.preview(slug, token), expiresAt: toIso(until) }
  }
}
