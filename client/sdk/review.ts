import type { Answer } from '../../protocol/api/operations.schema.ts'
import type { OperationId } from '../../protocol/api/paths.ts'
import type {
  CreatedReviewLink,
  DecisionRequest,
  Placements,
  PlacementsResponse,
  Review,
  ReviewAudience,
  ReviewDecision,
  ReviewRevision,
  ReviewThread,
  RevokedReviewLink,
  ThreadChange,
  ThreadRequest,
} from '../../protocol/api/reviews.schema.ts'
import { REVIEW_IDS } from '../../protocol/api/reviews.ts'
import type { AnyCall } from './operation.ts'

type Send = <Id extends OperationId>(id: Id, call: AnyCall) => Promise<Answer<Id>>

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
  get(filter: { status?: 'open' | 'resolved' | 'outdated'; path?: string } = {}): Promise<Review> {
    return this.#call('get', { query: filter })
  }

  /** A URL with which reviewers without an account comment and decide; shown once. */
  createLink(
    options: { audience?: ReviewAudience; expiresInSeconds?: number } = {},
  ): Promise<CreatedReviewLink> {
    return this.#call('createLink', { json: options })
  }

  /** Ends a link, and all that it shows. */
  revokeLink(id: string): Promise<RevokedReviewLink> {
    return this.#call('revokeLink', {}, id)
  }

  createThread(request: ThreadRequest): Promise<ReviewThread> {
    return this.#call('createThread', { json: request })
  }

  /** A reply, another status, or both. */
  addToThread(id: string, change: ThreadChange): Promise<ReviewThread> {
    return this.#call('addToThread', { json: change }, id)
  }

  /** About exactly the version that the reviewer saw. */
  decide(request: DecisionRequest): Promise<ReviewDecision> {
    return this.#call('decide', { json: request })
  }

  /** Which threads the pages of a version have a place for. */
  reportPlacements(placements: Placements): Promise<PlacementsResponse> {
    return this.#call('place', { json: placements })
  }

  /** Resolves when the revision is another one, and after 25 seconds. */
  wait(since: string, signal?: AbortSignal): Promise<ReviewRevision> {
    return this.#call('wait', { query: { since }, ...(signal && { signal }) })
  }

  #call<Name extends keyof typeof REVIEW_IDS>(
    name: Name,
    call: AnyCall,
    id?: string,
  ): Promise<Answer<(typeof REVIEW_IDS)[Name][0]>> {
    const preview = this.#preview
    const params = {
      slug: this.#slug,
      ...(preview !== undefined && { name: preview }),
      ...(id !== undefined && { id }),
    }
    return this.#send(REVIEW_IDS[name][preview === undefined ? 0 : 1], { params, ...call }) as Promise<
      Answer<(typeof REVIEW_IDS)[Name][0]>
    >
  }
}
