import { rateLimitSubnet } from '../../../packages/http-server/clients/client-ip.ts'
import type * as shape from '../../../protocol/api/reviews.schema.ts'
import {
  MAX_DECISIONS,
  MAX_REPLIES,
  MAX_REVIEW_LINKS,
  MAX_REVIEWER_NAME_LENGTH,
  MAX_THREADS,
  REVIEW_PATH,
} from '../../../protocol/api/reviews.ts'
import { formatNumber } from '../../../protocol/format.ts'
import {
  assertPermitted,
  givesLastingAccess,
  mayManage,
  requireAccount,
  requireKeyHash,
} from '../../accounts/authorization.ts'
import { countInWindow } from '../../accounts/rate-limits.ts'
import { endFrames } from '../../accounts/review-frames.ts'
import { ChangeWaits } from '../../lib/change-waits.ts'
import { Component } from '../../lib/component.ts'
import { ApiError, invalidField } from '../../lib/errors.ts'
import { toPlainLine } from '../../lib/plain-line.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, toIso, toIsoOrNull } from '../../lib/time.ts'
import { hashToken, isId, newId, newSessionToken, Signer } from '../../lib/tokens.ts'
import type { Parts } from '../../parts.ts'
import type { Queries } from '../../store/queries.ts'
import type { WriteTransaction } from '../../store/store.ts'
import type {
  ReviewSubject,
  StoredDecision,
  StoredReviewLink,
  StoredThread,
} from '../../store/tables/reviews.ts'
import { reviewedHash } from '../preview.ts'
import { PreviewTokens } from '../preview-links.ts'
import { assertStorable } from '../site-metadata.ts'
import { type ReviewAccess, type ReviewCaller, requireLink, requireReview } from './access.ts'

/** Places and comments of a review in JSON, so that a response with all of them has a bound. */
const MAX_CHARACTERS = 1_000_000

const COMMENTS_PER_HOUR = 60

const SHOWN_DECISIONS = 20

const FRAME_LIFETIME_MS = 30 * MINUTE_MS

/** Of a link to the live version, which does not end by a preview. */
const DEFAULT_LIFETIME_MS = 30 * DAY_MS

/** The owner and each collaborator get at most one email in this time for each review. */
const NOTICE_INTERVAL_MS = 10 * MINUTE_MS

/** Of a process, a caller and a site. */
const WAITING = { total: 1000, perKey: 30, perName: 250 }

/** By a reviewer, with this name. */
interface Request {
  caller: ReviewCaller
  subject: ReviewSubject
  name: string | undefined
  what: 'comment' | shape.ReviewDecision['decision']
}

interface Change {
  access: ReviewAccess
  author: shape.Reviewer
  now: number
}

type ReviewParts = Pick<Parts, 'quotas' | 'store' | 'addresses' | 'clock' | 'secret'>

/** Comments and decisions about a preview or about the live version of a site (contract, "Review"). */
export class Reviews extends Component<ReviewParts> {
  readonly #tokens = new PreviewTokens({ secret: this.parts.secret, kind: 'review' })
  readonly #networks = new Signer(this.parts.secret, 'networks of reviewers')
  readonly #waits = new ChangeWaits(WAITING)

  constructor(parts: ReviewParts) {
    super(parts)
    parts.store.onChange((names) => this.#waits.notify(names))
  }

  /** That of the link, for credentials that may read its site. */
  async open(caller: ReviewCaller): Promise<shape.Review> {
    const { read } = this.parts.store
    const link = await requireLink(read, caller, this.parts.clock())
    await assertPermitted(read, caller, { scope: 'read', reach: 'site' }, link.slug)
    return this.get(caller, link)
  }

  async get(
    caller: ReviewCaller,
    subject: ReviewSubject,
    { status, path }: { status?: 'open' | 'resolved' | 'outdated'; path?: string } = {},
  ): Promise<shape.Review> {
    const { store, addresses, clock } = this.parts
    const { read } = store
    const now = clock()
    const access = await requireReview(read, caller, { subject, right: 'read', now })
    const { site, version, role, link, mayDecide } = access
    const { slug, previewName } = subject
    // Before what it is about: the next wait must see a change that comes between.
    const revision = await read.reviews.revision(subject, version.id)
    const threads = (await read.reviews.threads(subject)).map((thread) => describeThread(thread, version.id))
    const contentHash = reviewedHash(version)
    const [last] = await read.reviews.decisionsAbout(slug, contentHash, 1)
    const end = Math.min(now + FRAME_LIFETIME_MS, link?.expiresAt ?? Number.POSITIVE_INFINITY)
    const until = Math.floor(end / SECOND_MS) * SECOND_MS
    const { passwordHash, reviewKey } = site
    const grant = this.#tokens.sign({ slug, passwordHash, reviewKey, versionId: version.id }, until)
    const isWanted = ({ status: found, outdated, place }: shape.ReviewThread) =>
      (path === undefined || place.path === path) &&
      (status === undefined || status === (found === 'open' && outdated ? 'outdated' : found))
    return {
      ...{ slug, preview: previewName || null, title: site.title ?? version.title, role, mayDecide },
      url: previewName === '' ? addresses.site(slug) : addresses.preview(slug, previewName),
      ...{ versionId: version.id, contentHash },
      frame: { url: addresses.preview(slug, grant), expiresAt: toIso(until) },
      decision: last?.decision ?? 'none',
      decided: last?.previewName === previewName ? describeDecision(last) : null,
      decisions: (await read.reviews.decisions(subject, SHOWN_DECISIONS)).map(describeDecision),
      counts: countThreads(threads),
      threads: threads.filter(isWanted),
      revision,
      ...(role !== 'guest' && { links: await describeLinks(read, await read.reviews.links(subject)) }),
    }
  }

  /** Shows the token once. A link of a key that may not give lasting access ends with it. QUOTA_EXCEEDED beyond 20. */
  async createLink(
    caller: ReviewCaller,
    subject: ReviewSubject,
    request: { audience?: shape.ReviewAudience; expiresInSeconds?: number },
  ): Promise<shape.CreatedReviewLink> {
    const { store, addresses, clock } = this.parts
    const token = newSessionToken()
    const account = requireAccount(caller)
    const grant = caller.grant!
    const link = await store.write('durable', { site: subject.slug }, async (tx) => {
      const now = clock()
      await requireReview(tx, withoutToken(caller), { subject, right: 'publish', now })
      await tx.reviews.removeEndedLinks(subject, now)
      if ((await tx.reviews.links(subject)).length >= MAX_REVIEW_LINKS)
        throw exceeded(
          `A review can have at most ${MAX_REVIEW_LINKS} links`,
          'A link shows later versions too: publish without --review and use one of these, or revoke some in Review, on the page of the site.',
        )
      const { audience = 'anyone', expiresInSeconds } = request
      const lifetime = expiresInSeconds === undefined ? undefined : expiresInSeconds * SECOND_MS
      const end = lifetime ?? (subject.previewName === '' ? DEFAULT_LIFETIME_MS : Number.POSITIVE_INFINITY)
      const expiresAt = Math.min(now + end, (caller.accessHash ? null : grant.expiresAt) ?? Infinity)
      const created = {
        ...{ id: newId(now), ...subject, tokenHash: hashToken(token), audience },
        ...{ createdBy: account.id, createdAt: now },
        keyHash: givesLastingAccess(grant) ? null : (caller.accessHash ?? requireKeyHash(caller)),
        expiresAt: Number.isFinite(expiresAt) ? expiresAt : null,
      }
      await tx.rows.insert('review_links', created)
      return created
    })
    return { ...describeLink(link, account.email), url: `${addresses.base}${REVIEW_PATH}#${token}` }
  }

  /** With all that it shows: frames of the site's reviews end and are opened again by those who may. */
  async revokeLink(
    caller: ReviewCaller,
    subject: ReviewSubject,
    id: string,
  ): Promise<shape.RevokedReviewLink> {
    const { store, clock } = this.parts
    await store.write('durable', { site: subject.slug }, async (tx) => {
      const now = clock()
      await requireReview(tx, withoutToken(caller), { subject, right: 'remove', now })
      if (!(await tx.reviews.removeLink(subject, id)))
        throw new ApiError('NOT_FOUND', 'The review has no such link')
      await endFrames(tx, subject.slug, now)
    })
    return { id, revoked: true }
  }

  /** QUOTA_EXCEEDED beyond 500 unresolved threads; the oldest resolved one makes room. */
  async createThread(
    caller: ReviewCaller,
    subject: ReviewSubject,
    { versionId, place, text, name }: shape.ThreadRequest,
  ): Promise<shape.ReviewThread> {
    assertStorable({ ...place })
    assertStorable({ text, name })
    if (!isId(versionId)) throw invalidField('versionId', 'must be the id of a version')
    return this.#write({ caller, subject, name, what: 'comment' }, async (tx, { access, author, now }) => {
      const comments = [{ id: newId(now), author, text, at: now }]
      const characters = JSON.stringify([place, comments]).length
      const freed = await makeRoom(tx, subject, characters)
      const thread: StoredThread = {
        ...{ id: newId(now), ...subject, versionId, place, status: 'open', outdatedIn: null, characters },
        ...{ comments, createdAt: now, changedAt: now },
      }
      await tx.rows.insert('review_threads', thread)
      await this.#chargeOwner(tx, access, characters - freed)
      return describeThread(thread, access.version.id)
    })
  }

  /** A reply, another status, or both. */
  async addToThread(
    caller: ReviewCaller,
    subject: ReviewSubject,
    id: string,
    { text, status, name }: shape.ThreadChange,
  ): Promise<shape.ReviewThread> {
    assertStorable({ text, name })
    if (text === undefined && status === undefined) throw invalidField('text', 'is required, or status')
    return this.#write({ caller, subject, name, what: 'comment' }, async (tx, { access, author, now }) => {
      const thread = await tx.reviews.thread(subject, id)
      if (!thread) throw new ApiError('NOT_FOUND', 'The review has no such thread')
      const { comments } = thread
      if (text !== undefined && comments.length > MAX_REPLIES)
        throw exceeded(`A thread can have at most ${MAX_REPLIES} replies`, 'Begin another thread.')
      const added = text === undefined ? [] : [{ id: newId(now), author, text, at: now }]
      const characters = text === undefined ? 0 : JSON.stringify(added).length
      const freed = text === undefined ? 0 : await makeRoom(tx, subject, characters, id)
      const change = {
        status: status ?? thread.status,
        comments: [...comments, ...added],
        characters: thread.characters + characters,
        // Two changes of one millisecond differ, so that the revision does.
        changedAt: Math.max(now, thread.changedAt + 1),
      }
      await tx.reviews.updateThread(id, change)
      await this.#chargeOwner(tx, access, characters - freed)
      return describeThread({ ...thread, ...change }, access.version.id)
    })
  }

  /**
   * About exactly the version that the reviewer saw: VERSION_CONFLICT when another one is shown now. INSUFFICIENT_SCOPE for
   * a guest with the link of a key that may not decide. The oldest of 500 decisions makes room.
   */
  async decide(
    caller: ReviewCaller,
    subject: ReviewSubject,
    { decision, versionId, note, name }: shape.DecisionRequest,
  ): Promise<shape.ReviewDecision> {
    assertStorable({ note, name })
    return this.#write({ caller, subject, name, what: decision }, async (tx, { access, author, now }) => {
      const { version, role } = access
      if (!access.mayDecide)
        throw new ApiError('INSUFFICIENT_SCOPE', 'This link was created with a key that may not decide', {
          details: { requiredScope: 'manage' },
          hint: 'Ask the owner of the site for a link from its page Review.',
        })
      if (version.id !== versionId)
        throw new ApiError('VERSION_CONFLICT', 'The review shows another version now', {
          details: { currentVersionId: version.id },
          hint: 'Look at the current version and decide about it.',
        })
      const contentHash = reviewedHash(version)
      const [ofReview] = await tx.reviews.decisions(subject, 1)
      const [ofContent] = await tx.reviews.decisionsAbout(subject.slug, contentHash, 1)
      // Decisions follow one another also within a millisecond.
      const at = Math.max(now, 1 + (ofReview?.createdAt ?? 0), 1 + (ofContent?.createdAt ?? 0))
      const made = {
        ...{ id: newId(at), ...subject, versionId, contentHash, decision },
        accountId: role === 'guest' ? null : caller.account!.id,
        ...{ note: note || null, author, createdAt: at },
      }
      await tx.rows.insert('review_decisions', made)
      await tx.reviews.removeOldDecisions(subject, MAX_DECISIONS)
      return describeDecision(made)
    })
  }

  /** Of the version that is shown now; reports about other versions change nothing. */
  async reportPlacements(
    caller: ReviewCaller,
    subject: ReviewSubject,
    { versionId, placed, missing }: shape.Placements,
  ): Promise<shape.PlacementsResponse> {
    const { store, clock } = this.parts
    const { read } = store
    const wanted = { subject, right: 'read', now: clock() } as const
    const threads = await read.reviews.threads(subject)
    // Afterwards, so that a site that was renamed before the threads were read is not found.
    const { version } = await requireReview(read, caller, wanted)
    const isMissing = new Map([
      ...missing.map((id) => [id, true] as const),
      ...placed.map((id) => [id, false] as const),
    ])
    const changed = threads.filter(({ id, outdatedIn }) => {
      const now = isMissing.get(id)
      return now !== undefined && now !== (outdatedIn === version.id)
    })
    const isChange = version.id === versionId && changed.length > 0
    const current = !isChange
      ? threads
      : await store.write('durable', { site: subject.slug }, async (tx) => {
          const now = clock()
          const access = await requireReview(tx, caller, { ...wanted, now })
          await this.#charge(tx, caller, { access, now })
          for (const { id } of access.version.id === versionId ? changed : [])
            await tx.reviews.updateThread(id, { outdatedIn: isMissing.get(id) ? versionId : null })
          await tx.notifyChanged(reviewChanges(subject.slug), 'improvable')
          return tx.reviews.threads(subject)
        })
    return { counts: countThreads(current.map((thread) => describeThread(thread, version.id))) }
  }

  /** When the revision is another one, and after 25 seconds. */
  async wait(
    caller: ReviewCaller,
    subject: ReviewSubject,
    { since, signal }: { since: string | undefined; signal: AbortSignal },
  ): Promise<shape.ReviewRevision> {
    const { store, clock } = this.parts
    let revision = ''
    const check = async () => {
      const wanted = { subject, right: 'read', now: clock() } as const
      const { version } = await requireReview(store.read, caller, wanted)
      revision = await store.read.reviews.revision(subject, version.id)
      return revision === since ? undefined : revision
    }
    const key = caller.account?.id ?? rateLimitSubnet(caller.address)
    const { slug } = subject
    await this.#waits.wait([slug, reviewChanges(slug)], { caller: key, signal, check })
    return { revision }
  }

  /** Answers requests that wait, so that the service can stop. */
  endWaiting(): void {
    this.#waits.end()
  }

  /** A change by a reviewer, which is counted, and announced to others. */
  async #write<T>(request: Request, work: (tx: WriteTransaction, change: Change) => Promise<T>): Promise<T> {
    const { store, clock } = this.parts
    const { caller, subject, name } = request
    return store.write('durable', { site: subject.slug }, async (tx) => {
      const now = clock()
      const access = await requireReview(tx, caller, { subject, right: 'publish', now })
      const change = { access, author: authorOf(caller, access, name), now }
      const result = await work(tx, change)
      await this.#charge(tx, caller, change)
      await announce(tx, { ...request, ...change })
      await tx.notifyChanged(reviewChanges(subject.slug), 'improvable')
      return result
    })
  }

  /** A comment counts in the quota of the owner, which is not shown to guests. */
  async #chargeOwner(tx: WriteTransaction, { site, role }: ReviewAccess, bytes: number): Promise<void> {
    if (bytes === 0) return
    try {
      await this.parts.quotas.charge(tx, site, { bytes, sites: 0 })
    } catch (error) {
      if (role !== 'guest' || !(error instanceof ApiError)) throw error
      throw exceeded('The storage of the owner of the site is used up', 'Ask the owner to make room.')
    }
  }

  /** RATE_LIMITED beyond 60 comments, decisions and other changes an hour, for a link and a network. */
  async #charge(
    tx: WriteTransaction,
    { address }: ReviewCaller,
    { access: { role, link }, now }: Pick<Change, 'access' | 'now'>,
  ): Promise<void> {
    if (role !== 'guest') return
    // The store keeps no addresses.
    const counter = `review:${link!.id}:${this.#networks.sign([rateLimitSubnet(address)])}`
    const limit = { counter, windowMs: HOUR_MS, max: COMMENTS_PER_HOUR, now }
    await countInWindow(tx, limit, `A reviewer can comment ${COMMENTS_PER_HOUR} times an hour`)
  }
}

/** A link never gives the right to make or end links. */
function withoutToken(caller: ReviewCaller): ReviewCaller {
  return { ...caller, reviewToken: undefined }
}

/** A job that publishes what others wrote has a key, and could give any name. */
function authorOf({ account, grant }: ReviewCaller, { role }: ReviewAccess, name?: string): shape.Reviewer {
  const typed = toPlainLine(name ?? '', MAX_REVIEWER_NAME_LENGTH)
  const known = typed || (role === 'guest' ? undefined : account?.email.split('@')[0])
  if (known) return { name: known, role: role === 'guest' || mayManage(grant!.scope) ? role : 'key' }
  throw invalidField('name', 'is required of reviewers without an account')
}

/** Deletes the oldest resolved threads besides that of a reply; returns their characters. QUOTA_EXCEEDED when full. */
async function makeRoom(
  tx: WriteTransaction,
  subject: ReviewSubject,
  characters: number,
  repliedTo?: string,
): Promise<number> {
  for (let freed = 0; ; ) {
    const used = await tx.reviews.size(subject)
    const hasThreads = repliedTo !== undefined || used.threads < MAX_THREADS
    if (hasThreads && used.characters + characters <= MAX_CHARACTERS) return freed
    const oldest = await tx.reviews.oldestResolved(subject, repliedTo)
    if (!oldest)
      throw exceeded(
        hasThreads
          ? `The unresolved threads of a review can have at most ${formatNumber(MAX_CHARACTERS)} characters, with names and places`
          : `A review can have at most ${MAX_THREADS} unresolved threads`,
        'Resolve threads that are done.',
      )
    await tx.rows.remove('review_threads', { id: oldest.id })
    freed += oldest.characters
  }
}

/** By email to the owner and the collaborators, other than the one who acts. */
async function announce(
  tx: WriteTransaction,
  { caller, subject, what, access, author, now }: Request & Change,
): Promise<void> {
  const { slug, ownerId, visitsKey } = access.site
  const period = Math.floor(now / NOTICE_INTERVAL_MS)
  const about = { slug, preview: subject.previewName || null, author: author.name, what }
  const emails = (await tx.collaborators.bySite(slug)).map(({ email }) => email)
  const accounts = await Promise.all(emails.map((email) => tx.accounts.byEmail(email)))
  for (const id of new Set([ownerId, ...accounts.map((account) => account?.id)]))
    if (id && id !== caller.account?.id) {
      const kind = id === ownerId ? 'review' : 'review-shared'
      await tx.notices.addWithinLimit({
        ...{ id: `${kind} ${visitsKey} ${subject.previewName} ${period} ${id}`, accountId: id },
        ...{ event: { kind, ...about }, createdAt: now },
      })
    }
}

function exceeded(sentence: string, hint: string): ApiError {
  return new ApiError('QUOTA_EXCEEDED', sentence, { hint })
}

/** A thread beside the version that is shown now. */
function describeThread(thread: StoredThread, shownId: string): shape.ReviewThread {
  const { id, status, versionId, place, createdAt, changedAt, comments, outdatedIn } = thread
  return {
    ...{ id, status, outdated: outdatedIn === shownId, versionId, place },
    ...{ createdAt: toIso(createdAt), changedAt: toIso(changedAt) },
    comments: comments.map(({ at, ...comment }) => ({ ...comment, createdAt: toIso(at) })),
  }
}

function countThreads(threads: readonly shape.ReviewThread[]): shape.Review['counts'] {
  const open = threads.filter(({ status }) => status === 'open')
  const outdated = open.filter((thread) => thread.outdated).length
  return { open: open.length - outdated, resolved: threads.length - open.length, outdated }
}

function describeDecision(stored: StoredDecision): shape.ReviewDecision {
  const { id, decision, versionId, contentHash, note, author, createdAt } = stored
  return { id, decision, versionId, contentHash, note, author, createdAt: toIso(createdAt) }
}

function describeLink(
  { id, audience, createdAt, expiresAt }: StoredReviewLink,
  createdBy: string | null,
): shape.ReviewLink {
  return { id, audience, createdBy, createdAt: toIso(createdAt), expiresAt: toIsoOrNull(expiresAt) }
}

async function describeLinks(
  queries: Queries,
  links: readonly StoredReviewLink[],
): Promise<shape.ReviewLink[]> {
  const creators = await queries.accounts.byIds([...new Set(links.map(({ createdBy }) => createdBy))])
  const emails = new Map(creators.map(({ id, email }) => [id, email]))
  return links.map((link) => describeLink(link, emails.get(link.createdBy) ?? null))
}

/** The name under which the changes of the reviews of a site are announced to all processes. */
function reviewChanges(slug: string): string {
  return `reviews of ${slug}`
}
