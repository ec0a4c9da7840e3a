import type { OperationId } from './paths.ts'

/** The token of a review link. It has no place in a URL that a server logs. */
export const REVIEW_TOKEN_HEADER = 'x-slipway-review'

/** The path of the page that a review link opens, with its token as the fragment. */
export const REVIEW_PATH = '/review'

/** The operations of a review, each with its id for the live version and for a preview. */
export const REVIEW_IDS = {
  get: ['getReview', 'getPreviewReview'],
  createLink: ['createReviewLink', 'createPreviewReviewLink'],
  revokeLink: ['revokeReviewLink', 'revokePreviewReviewLink'],
  createThread: ['createThread', 'createPreviewThread'],
  addToThread: ['addToThread', 'addToPreviewThread'],
  decide: ['decideReview', 'decidePreviewReview'],
  place: ['reportPlacements', 'reportPreviewPlacements'],
  wait: ['waitForReview', 'waitForPreviewReview'],
} as const satisfies Record<string, readonly [live: OperationId, preview: OperationId]>

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
