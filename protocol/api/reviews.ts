import type { OperationId } from './paths.ts'

/** The token of a review link. It has no place in a URL that a server logs. */
export const REVIEW_TOKEN_HEADER = 'x-slipway-review'

/** The path of the page that a review link opens, with its token as the fragment. */
export const REVIEW_PATH = '/review'

/** The operations of the review of a live version, each with that of a preview. */
export const REVIEW_IDS = {
  getReview: 'getPreviewReview',
  createReviewLink: 'createPreviewReviewLink',
  revokeReviewLink: 'revokePreviewReviewLink',
  createThread: 'createPreviewThread',
  addToThread: 'addToPreviewThread',
  decideReview: 'decidePreviewReview',
  reportPlacements: 'reportPreviewPlacements',
  waitForReview: 'waitForPreviewReview',
} as const satisfies Partial<Record<OperationId, OperationId>>

export type ReviewId = keyof typeof REVIEW_IDS

/** What the operations of a live version have, and those of a preview equally. */
export function withPreviews<Parts extends Record<ReviewId, unknown>>(parts: Parts) {
  const ofPreviews = Object.entries(REVIEW_IDS).map(([live, preview]) => [preview, parts[live as ReviewId]])
  return { ...parts, ...Object.fromEntries(ofPreviews) } as Parts & {
    [Id in ReviewId as (typeof REVIEW_IDS)[Id]]: Parts[Id]
  }
}

/** Maximum lengths in characters. */
export const MAX_COMMENT_LENGTH = 5000
export const MAX_NOTE_LENGTH = 1000
export const MAX_REVIEWER_NAME_LENGTH = 60
export const MAX_SELECTOR_LENGTH = 512
export const MAX_PLACE_TEXT_LENGTH = 500
export const MAX_NEIGHBOUR_LENGTH = 100

/** Of a subject: a preview, or the live version of a site. */
export const MAX_THREADS = 500
export const MAX_REPLIES = 100
export const MAX_DECISIONS = 500
export const MAX_REVIEW_LINKS = 20
