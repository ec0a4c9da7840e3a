import type { Answer } from '../../protocol/api/operations.schema.ts'
import type { OperationId } from '../../protocol/api/paths.ts'
import type * as shape from '../../protocol/api/reviews.schema.ts'
import { REVIEW_IDS, type ReviewId } from '../../protocol/api/reviews.ts'
import type { AnyCall } from './options.ts'

// The package does not have `Answer`.
type Send = (id: OperationId, call: AnyCall) => Promise<unknown>

/** The review of a preview, or of the live version of a site. */
export class SiteReview {
  readonly #send: Send
  readonly #slug: string
  readonly #preview: string | undefined

  constructor(send: Send, slug: string, preview: string | undefined) {
    this.#send = send
    this.#slug = slug
    this.#preview = preview
  }

  /** What is shown, with its threads and decisions. */
  get(filter: { status?: 'open' | 'resolved' | 'outdated'; path?: string } = {}): Promise<shape.Review> {
    return this.#call('getReview', { query: filter })
  }

  /** A URL with which reviewers without an account comment and decide; shown once. */
  createLink(
    options: { audience?: shape.ReviewAudience; expiresInSeconds?: number } = {},
  ): Promise<shape.CreatedReviewLink> {
    return this.#call('createReviewLink', { json: options })
  }

  /** Ends a link, and all that it shows. */
  revokeLink(id: string): Promise<shape.RevokedReviewLink> {
    return this.#call('revokeReviewLink', {}, id)
  }

  createThread(request: shape.ThreadRequest): Promise<shape.ReviewThread> {
    return this.#call('createThread', { json: request })
  }

  /** A reply, another status, or both. */
  addToThread(id: string, change: shape.ThreadChange): Promise<shape.ReviewThread> {
    return this.#call('addToThread', { json: change }, id)
  }

  /** About exactly the version that the reviewer saw. */
  decide(request: shape.DecisionRequest): Promise<shape.ReviewDecision> {
    return this.#call('decideReview', { json: request })
  }

  /** Which threads the pages of a version have a place for. */
  reportPlacements(placements: shape.Placements): Promise<shape.PlacementsResponse> {
    return this.#call('reportPlacements', { json: placements })
  }

  /** Resolves when the revision is another one, and after 25 seconds. */
  wait(since: string, signal?: AbortSignal): Promise<shape.ReviewRevision> {
    return this.#call('waitForReview', { query: { since }, ...(signal && { signal }) })
  }

  #call<Id extends ReviewId>(operation: Id, call: AnyCall, id?: string): Promise<Answer<Id>> {
    const [slug, name] = [this.#slug, this.#preview]
    const params = { slug, ...(name !== undefined && { name }), ...(id !== undefined && { id }) }
    const sent = name === undefined ? operation : REVIEW_IDS[operation]
    return this.#send(sent, { params, ...call }) as Promise<Answer<Id>>
  }
}
